/** The view of sweeps and studies: their cells as a grid, and their tables as they come. */

import { h } from "../views/dom";
import { ask, queryOf, type Cell, type Sweep } from "./api";
import { amount, short } from "./text";
import { Pulse, type View } from "./view";
import { table } from "./whisker";

const EVERY = 5000;

export class Sweeps implements View {
  private readonly body = h("div", { class: "each" });
  readonly root = h("main", { class: "sweeps" }, this.body);
  private shown = "";
  private readonly pulse = new Pulse(() => this.beat(), EVERY);

  show(): void {
    this.pulse.start();
  }

  hide(): void {
    this.pulse.stop();
  }

  private async beat(): Promise<void> {
    try {
      const sweeps = await ask<Sweep[]>("sweeps");
      const key = JSON.stringify(sweeps);
      if (key === this.shown) return;
      this.shown = key;
      const nothing = h(
        "p",
        { class: "line" },
        "There are no sweeps below this folder yet: `retro-agents sweep --help` says how to start one.",
      );
      const left = [...this.body.children].map(({ scrollLeft }) => scrollLeft);
      const links = () => [...this.body.querySelectorAll("a")];
      const focus = links().find((link) => link === document.activeElement)?.href;
      this.body.replaceChildren(...(sweeps.length ? sweeps.map(sweepBox) : [nothing]));
      [...this.body.children].forEach((box, i) => (box.scrollLeft = left[i] ?? 0));
      links()
        .find(({ href }) => href === focus)
        ?.focus({ preventScroll: true });
    } catch (error) {
      const { message } = error as Error;
      if (message === this.shown) return; // a screen reader has said it
      this.shown = message;
      this.body.replaceChildren(h("p", { class: "notice", role: "alert" }, message));
    }
  }
}

function sweepBox({ id, cells, table: text, drawn }: Sweep): HTMLElement {
  const kinds = [...new Set(cells.map(({ kind }) => kind))];
  const names = [...new Set(cells.map(({ name }) => name))];
  const means = cells.flatMap(({ mean }) => mean ?? []);
  const rows = kinds.map((kind) => [
    kind,
    ...names.map((name) => {
      const found = cells.find((cell) => cell.kind === kind && cell.name === name);
      return found ? cellBox(found, Math.min(...means), Math.max(...means)) : "–";
    }),
  ]);
  const begun = cells.flatMap(({ run }) => run || []);
  const curves = `#/runs?${queryOf({ run: begun.slice(0, 20) })}`;
  const done = cells.filter(({ state }) => state === "finished").length;
  return h(
    "section",
    { class: "box" },
    h("h2", {}, `${id}: ${done} of ${cells.length} cells are complete`),
    table(["", ...names], rows, { class: "grid" }),
    h("p", {}, h("a", { href: curves }, "Curves of its runs")),
    ...markdown(text),
    drawn > 0 &&
      h("img", {
        src: `/api/plot?${queryOf({ sweep: id, at: String(drawn) })}`,
        alt: `Plot of ${id}`,
      }),
  );
}

function cellBox({ run, state, mean, steps, timesteps }: Cell, low: number, high: number): Node {
  if (!run) return h("small", {}, state);
  const bar = h("i", { class: "gauge" });
  const share = mean === null ? 0 : high > low ? (mean - low) / (high - low) : 1;
  bar.style.setProperty("--share", String(share));
  const far =
    state === "finished"
      ? null
      : h("small", {}, `${state}, ${short(steps)} of ${short(timesteps)}`);
  const link = h("a", { href: `#/runs?${queryOf({ open: run })}` }, amount(mean));
  return h("span", {}, link, bar, far);
}

/** The tables and lines of Markdown as elements. */
function markdown(text: string): HTMLElement[] {
  return text
    .split(/\n\n+/)
    .filter((part) => part.trim())
    .map((part) => {
      const lines = part.trim().split("\n");
      if (!lines.every((line) => line.startsWith("|"))) return h("p", { class: "line" }, part);
      const rows = lines.map((line) =>
        line
          .split("|")
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );
      return table(rows[0], rows.slice(2));
    });
}
