/** The view that compares runs, contests and shipped results on the levels that they share. */

import { button, h, toggle } from "../views/dom";
import { ask, tell, type Compared, type Comparison, type Contest, type Runs } from "./api";
import { amount, levelOf } from "./text";
import type { View } from "./view";
import { table, whisker } from "./whisker";

type Kind = "run" | "contest" | "shipped";
const KINDS: Record<Kind, string> = {
  run: "Runs",
  contest: "Contests",
  shipped: "Shipped results",
};
const interval = (
  [low, high]: readonly [number | null, number | null],
  text: (value: number) => string = amount,
) => (low === null || high === null ? "–" : `${text(low)} to ${text(high)}`);
const probability = (value: number) => value.toFixed(2);
/** Whether a difference's interval excludes 0. */
const shown = ([low, high]: readonly [number | null, number | null]) =>
  (low ?? 0) > 0 || (high ?? 0) < 0;

export class Compare implements View {
  private readonly notice = h("p", { class: "notice", role: "alert", hidden: true });
  private readonly lists = h("div", { class: "lists" });
  private readonly result = h("section", { class: "box", hidden: true });
  private chosen: [Kind, string][] = [];
  private seeds = true;
  private offered = Promise.resolve();
  private asked = 0;
  readonly root = h(
    "main",
    { class: "compare" },
    this.notice,
    h(
      "section",
      { class: "controls" },
      this.lists,
      h(
        "div",
        { class: "buttons" },
        button("Compare", () => void this.compare(), { class: "main" }),
        toggle("Runs of one config as one entry", true, (on) => (this.seeds = on)),
      ),
      h("p", { class: "line" }, "The others are compared with the one that is chosen first."),
    ),
    this.result,
  );

  show(): void {
    this.offered = this.offer();
  }

  hide(): void {}

  private say(text: string): void {
    this.notice.hidden = !text;
    this.notice.textContent = text;
  }

  private async offer(): Promise<void> {
    try {
      const [{ rows }, contests, shipped] = await Promise.all([
        ask<Runs>("runs"),
        ask<Contest[]>("contests"),
        ask<string[]>("shipped"),
      ]);
      const names: Record<Kind, string[]> = {
        run: rows.filter(({ mean }) => mean !== null).map(({ id }) => id),
        contest: contests.filter(({ mean }) => mean !== null).map(({ id }) => id),
        shipped,
      };
      this.chosen = this.chosen.filter(([kind, name]) => names[kind].includes(name));
      this.lists.replaceChildren(
        ...(Object.keys(KINDS) as Kind[])
          .filter((kind) => names[kind].length)
          .map((kind) =>
            h(
              "fieldset",
              {},
              h("legend", {}, KINDS[kind]),
              ...names[kind].map((name) =>
                toggle(name, this.at(kind, name) >= 0, (on) => this.choose(kind, name, on)),
              ),
            ),
          ),
      );
    } catch (error) {
      this.say((error as Error).message);
    }
  }

  private at(kind: Kind, name: string): number {
    return this.chosen.findIndex(([k, n]) => k === kind && n === name);
  }

  private choose(kind: Kind, name: string, on: boolean): void {
    if (on) this.chosen.push([kind, name]);
    else this.chosen.splice(this.at(kind, name), 1);
  }

  private async compare(): Promise<void> {
    const turn = ++this.asked;
    await this.offered;
    const entries = this.chosen.map(([kind, name]) =>
      kind === "run" ? { runs: [name] } : { [kind]: name },
    );
    try {
      this.say("");
      const found = await tell<Comparison & { flaw?: string }>("compare", {
        entries,
        seeds: this.seeds,
      });
      if (turn !== this.asked) return;
      if (found.flaw) this.say(found.flaw);
      else this.fill(found);
    } catch (error) {
      if (turn === this.asked) this.say((error as Error).message);
    }
  }

  private fill({ rows, levels, remarks }: Comparison): void {
    const ends = rows.flatMap(({ mean, interval: [low, high] }) => [
      mean,
      low ?? mean,
      high ?? mean,
    ]);
    const scale = [Math.min(0, ...ends), Math.max(...ends)] as const;
    const means = rows.map((row) => [
      row.label,
      amount(row.mean),
      interval(row.interval),
      whisker(row.mean, row.interval, scale),
      String(row.seeds),
    ]);
    const apart = rows.slice(1).map((row: Compared) => [
      row.label,
      `${row.apart > 0 ? "+" : ""}${amount(row.apart)}`,
      interval(row.apart_interval),
      row.incomplete || rows[0]?.incomplete
        ? "incomplete"
        : shown(row.apart_interval)
          ? "yes"
          : "no",
      row.apart_interval[0] === null && row.better_interval[0] === null
        ? "–" // of single seeds
        : probability(row.better),
      interval(row.better_interval, probability),
    ]);
    const page = h(
      "div",
      {},
      h("h2", {}, `Mean returns on ${levels.length} shared level${levels.length > 1 ? "s" : ""}`),
      table(["", "Mean", "95 %", "", "Seeds"], means),
      h("h2", {}, `Compared with ${rows[0].label}`),
      table(["", "Apart", "95 %", "Shown", "Probability to be better", "95 %"], apart),
      h("h2", {}, "By level"),
      table(
        ["", ...rows.map(({ label }) => label)],
        levels.map(({ level, means }) => [levelOf(level), ...means.map(amount)]),
      ),
      ...remarks.map((text) => h("p", { class: "line" }, text)),
      h(
        "p",
        { class: "line" },
        "Means have Student's t interval over seeds, differences Welch's, probabilities of improvement a bootstrap over seeds within each level. A single seed has no interval, nor has a probability of 0 or 1. A difference is shown if its interval excludes 0.",
      ),
    );
    this.result.hidden = false;
    this.result.replaceChildren(
      page,
      button("Save as one HTML file", () => save(page)),
    );
  }
}

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:1000px;margin:2em auto;padding:0 1em;color:#1f2421}" +
  "table{width:100%;border-collapse:collapse;margin-bottom:2em}th,td{padding:6px 12px 6px 0;border-top:1px solid #dcdcd4;text-align:left}" +
  ".whisker{position:relative;display:block;min-width:160px;height:14px;background:#eee}.whisker i{position:absolute;top:5px;height:4px;background:#8fc39d}" +
  ".whisker b{position:absolute;top:2px;width:10px;height:10px;margin-left:-5px;border-radius:5px;background:#2c7040}h2{font-size:1.1rem}";

/** Offer a part of the page as a file that loads nothing. */
function save(page: HTMLElement): void {
  const text = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Comparison</title><style>${STYLE}</style><body>${page.innerHTML}</body></html>`;
  const address = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  h("a", { href: address, download: "comparison.html" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
