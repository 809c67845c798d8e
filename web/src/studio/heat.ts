/** Return on each level over time, as a map of colours. */

import { context, h } from "../views/dom";
import type { Heat } from "./api";
import { levelOf, short } from "./text";

/** From low to high, told apart also without colours. */
const SCALE = [
  [52, 42, 94],
  [45, 96, 140],
  [38, 145, 140],
  [92, 190, 110],
  [238, 225, 90],
];

function colour(share: number): string {
  const at = Math.max(0, Math.min(1, share)) * (SCALE.length - 1);
  const [low, high] = [SCALE[Math.floor(at)], SCALE[Math.ceil(at)]];
  return `rgb(${low.map((one, i) => Math.round(one + (high[i] - one) * (at % 1))).join()})`;
}

export function heatMap({ levels, edges, returns }: Heat): HTMLElement {
  if (!levels.length) return h("p", { class: "line" }, "No episode has ended yet.");
  const known = returns.flat().filter((one) => one !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const rows = levels.map((level, row) => {
    const canvas = h("canvas", { width: edges.length - 1, height: 1, "aria-hidden": "true" });
    const paint = context(canvas);
    returns[row].forEach((value, i) => {
      if (value === null) return;
      paint.fillStyle = colour((value - low) / (high - low || 1));
      paint.fillRect(i, 0, 1, 1);
    });
    const last = returns[row].findLast((value) => value !== null) ?? null;
    canvas.addEventListener("mousemove", (event) => {
      const i = Math.floor((event.offsetX / canvas.clientWidth) * (edges.length - 1));
      const value = returns[row][i] ?? null;
      const at = `${short(edges[i] ?? 0)} – ${short(edges[i + 1] ?? 0)} steps`;
      canvas.title = `${at}: ${value === null ? "no episode" : short(value)}`;
    });
    return h(
      "div",
      { class: "heat-row" },
      h("span", { title: level }, levelOf(level)),
      canvas,
      h("output", {}, last === null ? "–" : short(last)),
    );
  });
  const ramp = h("i", { class: "ramp", "aria-hidden": "true" });
  ramp.style.background = `linear-gradient(90deg, ${SCALE.map((one) => `rgb(${one.join()})`).join()})`;
  return h(
    "div",
    {},
    h("div", { class: "heat-rows" }, ...rows),
    h("p", { class: "line scale" }, short(low), ramp, short(high), " mean return; newest at right"),
  );
}
