/** Runs the search beside the page, and reports ten times a second. */

import { compile, Engine } from "../engine/engine";
import { Learner } from "./learner";

export interface Task {
  code: ArrayBuffer;
  packs: Uint8Array[];
  act: number;
  seed: number;
  timesteps: number;
}

/** Episodes since the last report, and the best sequence if it is another one. */
export interface Report {
  steps: number;
  episodes: { at: number; gained: number; kind: string }[];
  mean: number;
  best: Uint8Array | null;
  over: boolean;
}

const EVERY_MS = 100;
const PORTION = 200;

// Worker.onerror hears of errors, not of rejected promises.
self.onmessage = ({ data }: MessageEvent<Task>) => void search(data).catch(reportError);

async function search(data: Task): Promise<void> {
  const engine = new Engine(await compile(data.code), data.packs, {
    pictures: false,
    frameSkip: 4,
  });
  const learner = new Learner(engine, data.act, data.seed, data.timesteps);
  let [told, sent] = [0, ""];
  while (!learner.over) {
    const until = performance.now() + EVERY_MS;
    while (performance.now() < until && !learner.over) learner.run(PORTION);
    const best = learner.search.sequences.best();
    const actions = best?.improved() ?? null;
    const name = actions?.join("") ?? "";
    const episodes = learner.returns
      .slice(told)
      .map((gained, i) => ({ gained, at: learner.ends[told + i], kind: learner.kinds[told + i] }));
    told = learner.returns.length;
    const report: Report = {
      steps: learner.steps,
      episodes,
      mean: best?.mean ?? 0,
      best: name === sent ? null : actions,
      over: learner.over,
    };
    sent = name;
    self.postMessage(report);
  }
}
