/** A line over time, drawn anew at each step. */

import { context, h } from "./dom";

const SPAN = 300;
const WIDTH = 300;
const HEIGHT = 72;

export class Chart {
  private readonly canvas = h("canvas", { width: WIDTH, height: HEIGHT, role: "img" });
  private readonly now = h("output", {});
  readonly root = h("div", { class: "chart" }, this.canvas, this.now);

  constructor(label: string) {
    this.canvas.setAttribute("aria-label", label);
  }

  /** values: of the last steps, the newest last. */
  draw(values: number[]): void {
    const paint = context(this.canvas);
    paint.clearRect(0, 0, WIDTH, HEIGHT);
    const shown = values.slice(-SPAN);
    if (!shown.length) {
      this.now.textContent = "";
      return;
    }
    const [low, high] = [Math.min(...shown), Math.max(...shown)];
    const tall = high - low || 1;
    paint.strokeStyle = getComputedStyle(this.canvas).color;
    paint.lineWidth = 1.5;
    paint.beginPath();
    shown.forEach((value, i) => {
      const [x, y] = [
        ((SPAN - shown.length + i) / SPAN) * WIDTH,
        HEIGHT - 4 - ((value - low) / tall) * (HEIGHT - 8),
      ];
      if (i) paint.lineTo(x, y);
      else paint.moveTo(x, y);
    });
    paint.stroke();
    this.now.textContent = shown[shown.length - 1].toFixed(2);
  }
}
