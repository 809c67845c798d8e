/** JERK learns the chosen act in front of the visitor: its curve, its best run, its settings. */

import type { Report, Task } from "../learn/learn.worker";
import { titleOf, type Act, type World } from "../game/world";
import { button, choice, context, h, points } from "./dom";

const BUDGETS: [string, string][] = [
  ["50000", "50,000 steps"],
  ["200000", "200,000 steps"],
  ["1000000", "1,000,000 steps"],
];
const WIDTH = 640;
const HEIGHT = 240;
const TOP = 10_000;
const DOT = 7;

/** A run's actions, and its mean return so far. */
interface Run {
  actions: number[];
  mean: number;
}

export class Learn {
  private readonly curve = h("canvas", {
    width: WIDTH,
    height: HEIGHT,
    role: "img",
    "aria-label": "The points of each episode",
  });
  private readonly line = h("p", { class: "line", role: "status" });
  private readonly bar = h("progress", { max: 1, value: 0, "aria-label": "Steps done" });
  private readonly last = h("span", {});
  private readonly buttons = h("div", { class: "buttons" });
  private readonly halt = button("Stop", () => this.stop(), { disabled: true });
  readonly root = h(
    "section",
    { class: "box learn", "aria-labelledby": "learn-title" },
    h("h2", { id: "learn-title" }, "Learn here"),
    h(
      "p",
      {},
      "JERK searches this act by trial, in your browser: it explores, replays its best run, and repairs it where the sticky buttons break it. It sees rewards, never the picture. A dot is an episode; the line is the mean points of the best run.",
    ),
    this.buttons,
    this.bar,
    this.line,
    h("p", { class: "ends" }, `${points(TOP)} points`),
    this.curve,
    h("p", { class: "ends" }, h("span", {}, "0"), this.last),
    h(
      "p",
      { class: "key-line" },
      h("i", { class: "dot explore" }),
      "explores ",
      h("i", { class: "dot mutant" }),
      "varies ",
      h("i", { class: "dot replay" }),
      "replays",
    ),
  );
  private worker: Worker | null = null;
  private budget = 200_000;
  private act: Act | null = null;
  private seed = 0;
  private mean: [number, number] = [0, 0];
  private began = 0;
  /** Act -> the best run that was found on it. */
  private readonly runs = new Map<string, Run>();

  /** learned: called with the actions of the best run at each report. */
  constructor(
    private readonly world: World,
    private readonly learned: (act: Act, actions: number[]) => void,
  ) {}

  /** Show an act; a search of another act ends. seed: of the next search. */
  show(act: Act, seed: number): void {
    this.seed = seed;
    if (act === this.act) return;
    this.stop();
    this.act = act;
    this.clear();
    const start = button("Learn this act", () => this.start(act), { class: "main" });
    const budget = choice(
      "Budget",
      BUDGETS,
      String(this.budget),
      (value) => (this.budget = Number(value)),
    );
    this.buttons.replaceChildren(start, this.halt, budget);
    const run = this.runs.get(act.id);
    const known = run ? `best run ${points(run.mean)} points` : "nothing learned yet";
    this.line.textContent = `${titleOf(act)}: ${known}.`;
  }

  stop(): void {
    this.worker?.terminate();
    this.worker = null;
    this.halt.disabled = true;
    this.line.ariaBusy = null;
  }

  private clear(): void {
    this.mean = [0, 0];
    this.bar.value = 0;
    this.last.textContent = `${points(this.budget)} steps`;
    const paint = context(this.curve);
    paint.clearRect(0, 0, WIDTH, HEIGHT);
    paint.strokeStyle = getComputedStyle(this.root).getPropertyValue("--line");
    for (let share = 0; share <= 1; share += 0.25) {
      paint.beginPath();
      paint.moveTo(0, this.y(share * TOP));
      paint.lineTo(WIDTH, this.y(share * TOP));
      paint.stroke();
    }
  }

  private readonly y = (value: number) => HEIGHT - 6 - (Math.max(0, value) / TOP) * (HEIGHT - 12);

  private start(act: Act): void {
    this.stop();
    this.clear();
    this.began = performance.now();
    this.line.ariaBusy = "true"; // a screen reader says its last words alone
    const worker = new Worker(new URL("../learn/learn.worker.ts", import.meta.url), {
      type: "module",
    });
    this.worker = worker;
    this.halt.disabled = false;
    const budget = this.budget;
    const before = this.runs.get(act.id) ?? { actions: [], mean: -Infinity };
    let actions: number[] = [];
    worker.onmessage = ({ data }: MessageEvent<Report>) => {
      if (data.best) actions = [...data.best];
      if (actions.length)
        this.keep(act, data.mean > before.mean ? { actions, mean: data.mean } : before);
      this.report(act, data, budget);
    };
    worker.onerror = () => {
      this.line.textContent = "The search stopped: reload the page and try again.";
      this.stop();
    };
    const task: Task = {
      code: this.world.codeBytes,
      packs: act.packs,
      act: act.number,
      seed: this.seed,
      timesteps: budget,
    };
    worker.postMessage(task);
  }

  private keep(act: Act, run: Run): void {
    this.runs.set(act.id, run);
    this.learned(act, run.actions);
  }

  private report(act: Act, report: Report, budget: number): void {
    const paint = context(this.curve);
    const style = getComputedStyle(this.root);
    const x = (step: number) => (step / budget) * WIDTH;
    for (const { at, gained, kind } of report.episodes) {
      paint.fillStyle = style.getPropertyValue(`--${kind}`);
      paint.fillRect(x(at) - DOT / 2, this.y(gained) - DOT / 2, DOT, DOT);
    }
    paint.strokeStyle = style.getPropertyValue("--ink");
    paint.lineWidth = 2;
    paint.beginPath();
    paint.moveTo(x(this.mean[0]), this.y(this.mean[1]));
    paint.lineTo(x(report.steps), this.y(report.mean));
    paint.stroke();
    this.mean = [report.steps, report.mean];
    this.bar.value = report.steps / budget;
    const seconds = (performance.now() - this.began) / 1000;
    this.line.textContent = `${titleOf(act)}: ${points(report.steps)} steps in ${seconds.toFixed(1)} s · best run ${points(report.mean)} points`;
    if (report.over) this.stop();
  }
}
