/** A chart of several curves, drawn by uPlot. */

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { h } from "../views/dom";
import type { Curve } from "./api";
import { elapsed, hue, nameOf, short } from "./text";

const HEIGHT = 220;
/** Columns of shares, from 0 to 1. */
const SHARES = new Set(["episodes/finished", "episodes/progress"]);
/** Seconds between ticks of a time axis. */
const TIMES = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400];
const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name);

export class Plot {
  private readonly box = h("div", { class: "plot" });
  private readonly flaw = h("p", { class: "line flaw", hidden: true });
  readonly root: HTMLElement;
  private chart: uPlot | null = null;
  private key = "";

  constructor(readonly column: string) {
    this.root = h("section", { class: "box" }, h("h2", {}, nameOf(column)), this.box, this.flaw);
    new ResizeObserver(() => this.resize()).observe(this.box);
  }

  private resize(): void {
    const width = this.box.clientWidth;
    if (this.chart && width && width !== this.chart.width)
      this.chart.setSize({ width, height: HEIGHT });
  }

  /** x: steps or seconds. order: the runs, by which each has its colour. */
  draw(curves: Curve[], x: string, order: string[]): void {
    const flaws = curves.filter(({ error }) => error);
    this.flaw.hidden = !flaws.length;
    this.flaw.textContent = flaws.map(({ label, error }) => `${label} ${error}`).join("; ");
    const good = curves.filter(({ error }) => !error);
    this.box.hidden = !good.length;
    if (!good.length) return;
    const tables = good.map(({ x, y, low, high }) =>
      low && high ? [x, y, low, high] : [x, y],
    ) as uPlot.AlignedData[];
    const data = uPlot.join(tables);
    const key = JSON.stringify([x, good.map(({ label, low }) => [label, !low]), order]);
    if (this.chart && key === this.key) {
      const { min, max } = this.chart.scales.x;
      const before = this.chart.data[0];
      const zoomed = min != null && max != null && (min > before[0] || max < before.at(-1)!);
      this.chart.setData(data);
      if (zoomed) this.chart.setScale("x", { min, max });
      return;
    }
    this.key = key;
    this.chart?.destroy();
    this.chart = new uPlot(this.options(good, x, order), data, this.box);
  }

  private options(curves: Curve[], x: string, order: string[]): uPlot.Options {
    const share = SHARES.has(this.column);
    const text = (y: number, step = 0) => (share ? `${Math.round(100 * y)} %` : short(y, step));
    const series: uPlot.Series[] = [{ label: x, value: (_, at) => valueText(at, x) }];
    const bands: uPlot.Band[] = [];
    for (const { label, low } of curves) {
      const at = order.findIndex((name) => label === name || label.startsWith(`${name} and `));
      const colour = hue(Math.max(at, 0));
      const value = (_: uPlot, y: number | null) => (y === null ? "–" : text(y));
      series.push({ label, stroke: colour, width: 1.6, spanGaps: true, value });
      if (!low) continue;
      const edge = { stroke: "transparent", spanGaps: true, points: { show: false }, value };
      series.push({ ...edge, label: "95 % from" }, { ...edge, label: "to" });
      bands.push({ series: [series.length - 1, series.length - 2], fill: `${colour}33` });
    }
    const axis = {
      stroke: css("--soft"),
      grid: { stroke: css("--line"), width: 1 },
      ticks: { show: false },
    };
    return {
      width: this.box.clientWidth || 300,
      height: HEIGHT,
      series,
      bands,
      scales: { x: { time: false }, ...(share && { y: { range: [0, 1] } }) },
      legend: { live: true },
      axes: [
        {
          ...axis,
          ...(x === "seconds" && { incrs: TIMES }),
          values: (_, at, _axis, _space, step) => at.map((one) => valueText(one, x, step)),
        },
        {
          ...axis,
          size: 56,
          values: (_, at, _axis, _space, step) => at.map((one) => text(one, step)),
        },
      ],
      cursor: { points: { size: 6 } },
    };
  }
}

const valueText = (at: number | null, x: string, step = 0) =>
  at === null ? "–" : x === "seconds" ? elapsed(at) : short(at, step);
