/** A map of an act: its ground, where everybody is, and where episodes ended. */

import { ROWS } from "../engine/pack";
import type { Act } from "../game/world";
import { context, h } from "./dom";

/** Pixels of the game in a cell of the map, and of the map in a cell. */
const CELL = 16;
const SCALE = 2;
const HUES = ["#e0794b", "#3d9be0", "#b36ae2", "#d8b02c"];
const AIR = { dark: "#1d2733", light: "#dbe7f1" };

export interface Place {
  x: number;
  y: number;
}

export class ActMap {
  private readonly ground = h("canvas", { role: "img", "aria-label": "A map of the act" });
  private readonly marks = h("canvas", { "aria-hidden": "true" });
  readonly root = h(
    "div",
    { class: "track", tabindex: 0, role: "group", "aria-label": "Map, wider than the page" },
    h("div", {}, this.ground, this.marks),
  );
  private act: Act | null = null;

  show(act: Act): void {
    if (act === this.act) return;
    this.act = act;
    const own = act.number % act.pack.names.length;
    const { width, zone, endX } = act.pack.act(own);
    const colours = act.art.colours(zone);
    for (const canvas of [this.ground, this.marks]) {
      canvas.width = width * SCALE;
      canvas.height = ROWS * SCALE;
    }
    const paint = context(this.ground);
    paint.fillStyle = matchMedia("(prefers-color-scheme: dark)").matches ? AIR.dark : AIR.light;
    paint.fillRect(0, 0, width * SCALE, ROWS * SCALE);
    for (let column = 0; column < width; column++)
      for (let row = 0; row < ROWS; row++) {
        const metatile = act.pack.cell(own, column, row);
        const colour = colours[metatile];
        if (!colour && !act.pack.shape(metatile)) continue;
        paint.fillStyle = colour ? `rgb(${colour.join()})` : "#7a7a7a";
        paint.fillRect(column * SCALE, row * SCALE, SCALE, SCALE);
      }
    paint.fillStyle = "#fff";
    paint.fillRect((endX / CELL) * SCALE, 0, 1, ROWS * SCALE);
  }

  mark(here: Place[], ends: Place[]): void {
    const paint = context(this.marks);
    paint.clearRect(0, 0, this.marks.width, this.marks.height);
    paint.strokeStyle = "#ff3b30";
    for (const { x, y } of ends) {
      const [at, over] = [(x / CELL) * SCALE, (y / CELL) * SCALE];
      paint.beginPath();
      paint.moveTo(at - 3, over - 3);
      paint.lineTo(at + 3, over + 3);
      paint.moveTo(at + 3, over - 3);
      paint.lineTo(at - 3, over + 3);
      paint.stroke();
    }
    here.forEach(({ x, y }, seat) => {
      paint.beginPath();
      paint.arc((x / CELL) * SCALE, (y / CELL) * SCALE - 2, 4, 0, 7);
      paint.fillStyle = HUES[seat % HUES.length];
      paint.fill();
      paint.strokeStyle = "#fff";
      paint.stroke();
    });
    const first = here[0];
    if (!first || document.activeElement === this.root) return; // whose keys scroll it
    const [wide, at] = [
      this.root.clientWidth,
      (first.x / CELL) * SCALE * (this.marks.clientWidth / (this.marks.width || 1)),
    ];
    this.root.scrollLeft = at - wide / 3;
  }
}
