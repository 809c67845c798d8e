/** A mean with its interval on a common scale. */

import { h } from "../views/dom";

/** low, high: of the interval, null for a single seed. scale: the ends of the row. */
export function whisker(
  mean: number,
  [low, high]: readonly [number | null, number | null],
  [from, to]: readonly [number, number],
): HTMLElement {
  const at = (value: number) =>
    `${Math.max(0, Math.min(100, (100 * (value - from)) / (to - from || 1)))}%`;
  const dot = h("b");
  dot.style.left = at(mean);
  const box = h("span", { class: "whisker" }, dot);
  if (low !== null && high !== null) {
    const line = h("i");
    line.style.left = at(low);
    line.style.width = `calc(${at(high)} - ${at(low)})`;
    box.prepend(line);
  }
  return box;
}

/** A table from its head and rows. */
export function table(head: string[], rows: (string | Node)[][], props = {}): HTMLTableElement {
  return h(
    "table",
    props,
    h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, cell))))),
  );
}
