/** Curves of the chosen runs, laid over each other. */

import { choice, h, memory, toggle } from "../views/dom";
import { ask, type Curve } from "./api";
import { Plot } from "./plot";
import { nameOf } from "./text";

const FIRST = [
  "episodes/r",
  "episodes/finished",
  "metrics/loss",
  "metrics/value_loss",
  "metrics/entropy",
];
const MOST_PLOTS = 12;

export class Charts {
  private runs: string[] = [];
  private columns: string[] = [];
  private shown: string[] = memory.get("studio.columns", FIRST);
  private x = memory.get("studio.x", "steps");
  private window = memory.get("studio.window", "20");
  private seeds = memory.get("studio.seeds", false);
  private readonly plots = new Map<string, Plot>();
  private readonly grid = h("div", { class: "plots" });
  private readonly fields = h("div", { class: "fields" });
  private readonly more = h("details", { class: "switches" });
  private asked = 0;
  readonly root = h(
    "section",
    { class: "charts", "aria-label": "Curves", hidden: true },
    h("div", { class: "controls" }, this.fields, this.more),
    this.grid,
  );

  constructor(private readonly fail: (error: Error) => void) {
    const keep = (name: "x" | "window" | "seeds", value: string | boolean) => {
      Object.assign(this, { [name]: value });
      memory.set(`studio.${name}`, value);
      void this.draw();
    };
    const over = choice(
      "Over",
      [
        ["steps", "Steps"],
        ["seconds", "Time"],
      ],
      this.x,
      (value) => keep("x", value),
    );
    const windows = ["1", "5", "20", "100", "500"].map((rows): [string, string] => [
      rows,
      rows === "1" ? "Every row" : `Mean of ${rows} rows`,
    ]);
    const smooth = choice("Smoothing", windows, this.window, (value) => keep("window", value));
    const seeds = toggle("Seeds as one curve, with 95 % intervals", this.seeds, (on) =>
      keep("seeds", on),
    );
    this.fields.append(over, smooth, seeds);
  }

  /** Draw these runs, the newest rows included. */
  async show(runs: string[]): Promise<void> {
    this.runs = runs;
    this.root.hidden = !runs.length;
    if (!runs.length) return;
    try {
      const columns = await ask<string[]>("columns", { run: runs });
      if (runs !== this.runs) return;
      if (String(columns) !== String(this.columns)) {
        this.columns = columns;
        this.offer();
      }
      await this.draw();
    } catch (error) {
      this.fail(error as Error);
    }
  }

  private offer(): void {
    if (!this.shown.some((column) => this.columns.includes(column)))
      this.shown = [...this.shown, ...this.columns.slice(0, 4)];
    this.more.replaceChildren(
      h("summary", {}, `Metrics (${this.columns.length})`),
      h(
        "div",
        { class: "columns" },
        ...this.columns.map((column) =>
          toggle(nameOf(column), this.shown.includes(column), (on) => {
            this.shown = on
              ? [...this.shown, column]
              : this.shown.filter((other) => other !== column);
            memory.set("studio.columns", this.shown);
            void this.draw();
          }),
        ),
      ),
    );
  }

  private async draw(): Promise<void> {
    const turn = ++this.asked;
    const columns = this.columns.filter((one) => this.shown.includes(one)).slice(0, MOST_PLOTS);
    for (const column of columns)
      if (!this.plots.has(column)) this.plots.set(column, new Plot(column));
    const roots = columns.map((column) => this.plots.get(column)!.root);
    if (
      roots.some((root, i) => this.grid.children[i] !== root) ||
      roots.length < this.grid.children.length
    )
      this.grid.replaceChildren(...roots);
    const same = { run: this.runs, x: this.x, window: this.window, seeds: this.seeds ? "1" : "0" };
    try {
      await Promise.all(
        columns.map(async (column) => {
          const curves = await ask<Curve[]>("curves", { ...same, column });
          if (turn === this.asked) this.plots.get(column)!.draw(curves, this.x, this.runs);
        }),
      );
    } catch (error) {
      this.fail(error as Error);
    }
  }
}
