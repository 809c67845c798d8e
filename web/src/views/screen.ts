/** A game's picture, with a label and what the net looks at over it. */

import { HEIGHT, WIDTH, type Engine } from "../engine/engine";
import { CELLS } from "../nets/saliency";
import { context, h } from "./dom";

export class Screen {
  readonly canvas = h("canvas", {
    width: WIDTH,
    height: HEIGHT,
    role: "img",
    "aria-label": "The game",
  });
  private readonly heat = h("canvas", {
    class: "heat",
    width: CELLS,
    height: CELLS,
    "aria-hidden": "true",
  });
  private readonly label = h("span", { class: "name" });
  private readonly banner = h("p", { class: "banner", role: "status", hidden: true });
  readonly root = h("figure", { class: "screen" }, this.canvas, this.heat, this.label, this.banner);
  private readonly picture = new ImageData(WIDTH, HEIGHT);
  private readonly paint = context(this.canvas);

  draw(engine: Engine): void {
    engine.draw(this.picture.data);
    this.paint.putImageData(this.picture, 0, 0);
  }

  name(text: string): void {
    if (this.label.textContent !== text) this.label.textContent = text;
    this.canvas.setAttribute("aria-label", `The game, played by ${text}`);
  }

  say(text: string | null): void {
    this.banner.hidden = text === null;
    this.banner.textContent = text ?? "";
  }

  /** changes: 0 to 1 for each of CELLS by CELLS parts; null hides them. */
  look(changes: Float32Array | null): void {
    this.heat.hidden = changes === null;
    if (!changes) return;
    const picture = new ImageData(CELLS, CELLS);
    changes.forEach((change, i) => picture.data.set([255, 60, 0, 190 * change], 4 * i));
    context(this.heat).putImageData(picture, 0, 0);
  }
}
