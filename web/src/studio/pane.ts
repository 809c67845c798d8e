/** One game that the studio's machine plays: its pictures, and what its net thinks. */

import { probabilities } from "../players/policy";
import { Chart } from "../views/chart";
import { context, h, points } from "../views/dom";
import { Screen } from "../views/screen";
import { amount } from "./text";

/** What comes with each picture (retro_agents/studio/player.py). total: the return so far. */
interface Header {
  episode: number;
  step: number;
  total: number;
  action: number;
  names: string[];
  held: boolean;
  scores?: number[];
  logits?: boolean;
  value?: number;
  looks?: number[];
  over?: boolean;
}

const BUTTONS: Record<string, string> = { LEFT: "←", RIGHT: "→", UP: "↑", DOWN: "↓" };
const actionText = (name: string) =>
  name
    ? name
        .split(" ")
        .map((button) => BUTTONS[button] ?? button)
        .join(" ")
    : "nothing";

export class Pane {
  private readonly screen = new Screen();
  private readonly line = h("p", { class: "line" });
  private readonly seen = h("canvas", { class: "seen", role: "img", "aria-label": "What it sees" });
  private readonly bars = h("div", { class: "bars" });
  private readonly chart = new Chart("The net's value of the last steps");
  private readonly mind = h(
    "div",
    { class: "mind", hidden: true },
    h("section", { class: "box" }, h("h2", {}, "What the net sees"), this.seen),
    h("section", { class: "box" }, h("h2", {}, "What it thinks"), this.bars),
    h("section", { class: "box" }, h("h2", {}, "Value over time"), this.chart.root),
  );
  readonly root = h(
    "section",
    { class: "pane" },
    h("div", { class: "stage" }, this.screen.root),
    this.line,
    this.mind,
  );
  private values: number[] = [];
  /** The timer that counts the seconds until a picture comes. */
  private waiting = 0;
  /** What came with the newest picture. */
  header: Header | null = null;
  agent = "";

  begin(agent: string): void {
    this.agent = agent;
    this.values = [];
    this.header = null;
    this.screen.name(agent);
    this.screen.look(null);
    this.screen.say(null);
    const begun = Date.now();
    const wait = () => {
      const seconds = Math.round((Date.now() - begun) / 1000);
      this.line.textContent = `The game is being prepared… ${seconds} s`;
    };
    this.rest();
    this.waiting = window.setInterval(wait, 1000);
    wait();
  }

  private rest(): void {
    clearInterval(this.waiting);
  }

  over(): void {
    this.rest();
    this.line.textContent = "The game is over.";
  }

  /** Draw a picture. Resolves to what shows the rest, once all games are drawn. */
  async draw(data: DataView<ArrayBuffer>): Promise<() => void> {
    const part = (at: number, size?: number) =>
      new Uint8Array(data.buffer, data.byteOffset + at, size ?? data.byteLength - at);
    const head = data.getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(part(4, head))) as Header;
    const size = data.getUint32(4 + head, true);
    const seen = part(8 + head + size);
    const drawn = [draw(this.screen.canvas, part(8 + head, size))];
    const isNew = header.step !== this.header?.step || header.episode !== this.header.episode;
    if (isNew && seen.length) drawn.push(draw(this.seen, seen));
    await Promise.all(drawn);
    return () => {
      if (isNew || header.over) this.show(header);
      this.header = header;
    };
  }

  private show(header: Header): void {
    this.rest();
    const { total, step, held, episode, value } = header;
    const who = held ? " · you play" : "";
    this.line.textContent = `Episode ${episode + 1} · ${amount(total)} points after ${points(step)} steps${who}`;
    this.screen.say(header.over ? `Ended after ${points(step)} steps` : null);
    this.mind.hidden = false;
    this.seen.parentElement!.hidden = !header.scores;
    this.screen.look(header.looks?.length ? Float32Array.from(header.looks) : null);
    this.think(header);
    if (episode !== this.header?.episode) this.values = [];
    if (value !== undefined && !header.over) this.values.push(value);
    this.chart.root.parentElement!.hidden = value === undefined;
    this.chart.draw(this.values);
  }

  private think({ names, action, scores, logits }: Header): void {
    if (this.bars.children.length !== names.length)
      this.bars.replaceChildren(
        ...names.map((name) =>
          h("div", { class: "bar" }, h("span", {}, actionText(name)), h("i"), h("output")),
        ),
      );
    const low = scores ? Math.min(...scores) : 0;
    const high = scores ? Math.max(...scores) : 1;
    const shares = !scores
      ? names.map((_, i) => Number(i === action))
      : logits
        ? probabilities(scores)
        : scores.map((score) => (score - low) / (high - low || 1));
    names.forEach((_, i) => {
      const row = this.bars.children[i] as HTMLElement;
      row.toggleAttribute("data-on", i === action);
      (row.children[1] as HTMLElement).style.setProperty("--share", String(shares[i]));
      row.children[2].textContent = !scores
        ? ""
        : logits
          ? `${Math.round(100 * shares[i])} %`
          : scores[i].toFixed(2);
    });
  }
}

async function draw(canvas: HTMLCanvasElement, png: Uint8Array<ArrayBuffer>): Promise<void> {
  const picture = await createImageBitmap(new Blob([png], { type: "image/png" }));
  if (canvas.width !== picture.width || canvas.height !== picture.height)
    [canvas.width, canvas.height] = [picture.width, picture.height];
  canvas.style.aspectRatio = `${picture.width} / ${picture.height}`;
  context(canvas).drawImage(picture, 0, 0);
  picture.close();
}
