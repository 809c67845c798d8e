/** One game that the studio's machine plays: its pictures, and what its net thinks. */

import { probabilities } from "../players/policy";
import { Chart } from "../views/chart";
import { context, h, points } from "../views/dom";
import { Screen } from "../views/screen";
import { queryOf } from "./api";

/** What comes with each picture (retro_agents/studio/player.py). */
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
}

export interface Part {
  agent: string;
  level: string;
  seed: string;
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
  private socket: WebSocket | null = null;
  private values: number[] = [];
  private step = -1;
  names: string[] = [];

  constructor(private readonly fail: (text: string) => void) {}

  get playing(): boolean {
    return this.socket !== null;
  }

  /** words: what is told as soon as it can be. */
  begin(part: Part, words: Record<string, unknown>[]): void {
    this.end();
    this.values = [];
    this.screen.name(part.agent);
    this.screen.look(null);
    this.line.textContent = "The game begins…";
    const socket = new WebSocket(`ws://${location.host}/api/stream?${queryOf({ ...part })}`);
    socket.onopen = () => words.forEach((word) => this.tell(word));
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") this.fail((JSON.parse(data) as { error: string }).error);
      else void this.picture(data as ArrayBuffer, socket);
    };
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.socket = null;
      this.line.textContent = "The game is over.";
    };
    this.socket = socket;
  }

  /** Close the game: its process ends. */
  end(): void {
    const socket = this.socket;
    this.socket = null;
    socket?.close();
  }

  tell(word: Record<string, unknown>): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(word));
  }

  private async picture(data: ArrayBuffer, socket: WebSocket): Promise<void> {
    const view = new DataView(data);
    const head = view.getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, head))) as Header;
    const size = view.getUint32(4 + head, true);
    const drawn = [draw(this.screen.canvas, new Uint8Array(data, 8 + head, size))];
    if (header.step !== this.step && data.byteLength > 8 + head + size)
      drawn.push(draw(this.seen, new Uint8Array(data, 8 + head + size)));
    await Promise.all(drawn);
    if (socket !== this.socket) return;
    this.tell({ do: "seen" });
    if (header.step !== this.step) this.show(header);
    this.step = header.step;
  }

  private show(header: Header): void {
    const { names, total, step, held, episode, value } = header;
    this.names = names;
    const who = held ? " · you play" : "";
    this.line.textContent = `Episode ${episode + 1} · ${points(total)} points after ${points(step)} steps${who}`;
    this.mind.hidden = false;
    this.seen.parentElement!.hidden = !header.scores;
    this.screen.look(header.looks?.length ? Float32Array.from(header.looks) : null);
    this.think(header);
    if (step < this.step) this.values = [];
    if (value !== undefined) this.values.push(value);
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
