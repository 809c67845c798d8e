/** The table of runs. */

import { button, h } from "../views/dom";
import type { Run } from "./api";
import { amount, count, duration, hue, short } from "./text";

const LEFT_OUT = /^[\w.-]+-Genesis-v0:/;
const SAME =
  "Mean returns of random play and of the oracle on the levels of this run's newest episodes, a hundred at most. They change as the run changes its levels.";

export interface Marks {
  /** Names of the chosen runs, in the order of their colours. */
  chosen: string[];
  open: string;
  /** Names of the runs that were asked to stop. */
  stopping: ReadonlySet<string>;
}

/** A row. key: what it was made for; numbers: the cells that change while a run runs; said: what
 * these were made for. */
interface Made {
  readonly key: string;
  readonly element: HTMLElement;
  readonly numbers: HTMLElement[];
  said: string;
}

interface Calls {
  choose(run: string, on: boolean): void;
  open(run: string): void;
  stop(run: string): void;
}

export class Rows {
  readonly root = h("div", { class: "runs", role: "table", "aria-label": "Runs" });
  private readonly head = h(
    "div",
    { class: "run head", role: "row" },
    ...["", "Run", "State", "Steps", "Speed", "Return", ""].map((text) =>
      h("span", { role: "columnheader" }, text),
    ),
  );
  private rows = new Map<string, Made>();

  constructor(private readonly calls: Calls) {}

  /** What did not change stays in its place: a row that is taken out, even to be put back, loses a
   * click on it and a screen reader's place. */
  show(runs: Run[], marks: Marks): void {
    const focus = document.activeElement?.getAttribute("data-key");
    const made = this.rows;
    this.rows = new Map(); // without those that are gone
    const elements = runs.map((run) => {
      const at = marks.chosen.indexOf(run.id);
      const { id, state, error, agent, levels, seed } = run;
      const [open, stopping] = [marks.open === id, marks.stopping.has(id)];
      const key = JSON.stringify([id, state, error, agent, levels, seed, at, open, stopping]);
      const before = made.get(id);
      const row = before?.key === key ? before : this.row(run, key, at, open, stopping);
      this.rows.set(id, row);
      renew(row, run);
      return row.element;
    });
    const all = [this.head, ...elements];
    const { children } = this.root;
    if (children.length === all.length && all.every((one, i) => one === children[i])) return;
    this.root.replaceChildren(...all);
    const again = focus && `[data-key="${CSS.escape(focus)}"]`;
    if (again) this.root.querySelector<HTMLElement>(again)?.focus({ preventScroll: true });
  }

  private row(run: Run, key: string, at: number, open: boolean, stopping: boolean): Made {
    const box = h("input", {
      type: "checkbox",
      checked: at >= 0,
      "aria-label": `Draw ${run.id}`,
      "data-key": `draw ${run.id}`,
      onchange: (event: Event) =>
        this.calls.choose(run.id, (event.target as HTMLInputElement).checked),
    });
    if (at >= 0) box.style.accentColor = hue(at);
    const levels = run.levels.replace(LEFT_OUT, "");
    const seed = run.seed === null ? "" : `seed ${run.seed}`;
    const name = button(run.id, () => this.calls.open(run.id), {
      class: "link",
      "aria-expanded": String(open),
      "data-key": `open ${run.id}`,
    });
    const state = stopping ? "stopping…" : run.state;
    const about = [run.agent, levels, seed].filter(Boolean).join(" · ");
    const stop = button("Stop", () => this.calls.stop(run.id), {
      title: "The run saves a checkpoint and ends",
      disabled: stopping,
      "data-key": `stop ${run.id}`,
    });
    const numbers = ["steps", "speed", "return"].map((name) =>
      h("span", { class: name, role: "cell" }),
    );
    const cells = [
      h("span", { class: "draw", role: "cell" }, box),
      h("span", { class: "what", role: "cell" }, name, h("small", {}, about)),
      h("span", { role: "cell" }, h("b", { class: `state ${run.state}` }, state)),
      ...numbers,
      h("span", { class: "acts-cell", role: "cell" }, run.state === "running" && stop),
    ];
    const flaw = run.error && h("span", { class: "flaw", role: "cell" }, run.error);
    const element = h(
      "div",
      { class: "run", role: "row", "data-run": run.id, "data-open": open },
      ...cells,
      flaw || null,
    );
    return { key, element, numbers, said: "" };
  }
}

/** Show a row's newest numbers. */
function renew(row: Made, run: Run): void {
  const { steps, timesteps, speed, mean, random, oracle } = run;
  const said = JSON.stringify([steps, timesteps, speed, mean, random, oracle]);
  if (said === row.said) return;
  row.said = said;
  [progress, pace, standing].forEach((part, i) => row.numbers[i].replaceChildren(...part(run)));
}

function progress({ steps, timesteps }: Run): HTMLElement[] {
  if (!timesteps) return [];
  const bar = h("i", { class: "gauge" });
  bar.style.setProperty("--share", String(Math.min(1, steps / timesteps)));
  return [h("output", {}, `${short(steps)} of ${short(timesteps)}`), bar];
}

function pace({ speed, steps, timesteps }: Run): HTMLElement[] {
  if (!speed) return [];
  const left = Math.max(0, (timesteps - steps) / speed);
  return [h("output", {}, `${count(speed)} steps/s`), h("small", {}, `${duration(left)} left`)];
}

/** The newest return, between random play and the oracle where these are known. */
function standing({ mean, random, oracle }: Run): HTMLElement[] {
  if (mean === null) return [];
  const text = h("output", {}, amount(mean));
  if (random === null || oracle === null) return [text];
  const bar = h("i", { class: "gauge" });
  bar.style.setProperty(
    "--share",
    String(Math.max(0, Math.min(1, (mean - random) / (oracle - random || 1)))),
  );
  const others = `same levels: random ${short(random)} · oracle ${short(oracle)}`;
  return [text, bar, h("small", { title: SAME }, others)];
}
