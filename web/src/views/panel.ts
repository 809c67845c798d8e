/** What can be shown beside a game, each with a switch. */

import { PAD } from "../engine/engine";
import type { Seat } from "../game/seat";
import { reference } from "../game/world";
import { probabilities } from "../players/policy";
import { Chart } from "./chart";
import { context, h, memory, points, toggle } from "./dom";
import { ActMap, type Place } from "./map";

const ARROWS: Record<string, string> = { LEFT: "←", RIGHT: "→", UP: "↑", DOWN: "↓", B: "jump" };
const PARTS = {
  sees: "What the net sees",
  thinks: "What it thinks",
  buttons: "Buttons",
  value: "Value over time",
  scores: "Points and progress",
  looks: "Where it looks",
  map: "Map",
};
type Part = keyof typeof PARTS;
const OF_NETS = ["sees", "thinks", "value"] as const;

const actionText = (name: string) =>
  name
    ? name
        .split(" ")
        .map((button) => ARROWS[button])
        .join(" ")
    : "nothing";

export class Panel {
  private readonly on: Record<Part, boolean> = memory.get("panel", {
    sees: true,
    thinks: true,
    buttons: true,
    value: true,
    scores: true,
    looks: false,
    map: true,
  });
  private readonly pictures = h("div", { class: "pictures" });
  private readonly bars = h("div", { class: "bars" });
  private readonly pad = h("div", { class: "pad", role: "img" });
  private readonly chart = new Chart("The net's value of the last 300 steps");
  private readonly scores = h("div", { class: "scores" });
  readonly map = new ActMap();
  private readonly boxes: Partial<Record<Part, HTMLElement>> = {
    sees: this.box("sees", this.pictures),
    thinks: this.box("thinks", this.bars),
    buttons: this.box("buttons", this.pad),
    value: this.box("value", this.chart.root),
    scores: this.box("scores", this.scores),
  };
  readonly mapBox = this.box("map", this.map.root);
  readonly root: HTMLElement;
  private picture: ImageData | null = null;

  /** turned: called when a part was switched, and would not be up to date. */
  constructor(turned: () => void) {
    const switches = (Object.keys(PARTS) as Part[]).map((part) =>
      toggle(PARTS[part], this.on[part], (on) => {
        this.turn(part, on);
        turned();
      }),
    );
    const shown = h(
      "details",
      { class: "switches" },
      h("summary", {}, "Shown beside the game"),
      h("div", {}, ...switches),
    );
    this.root = h(
      "aside",
      { class: "panel", "aria-label": "The agent's mind" },
      ...Object.values(this.boxes),
      shown,
    );
    for (const name of Object.keys(ARROWS))
      this.pad.append(h("span", { "data-button": name }, ARROWS[name]));
    for (const part of Object.keys(PARTS) as Part[]) this.turn(part, this.on[part]);
    for (const part of OF_NETS) this.boxes[part]!.hidden = true; // until one plays
  }

  private box(part: Part, content: HTMLElement): HTMLElement {
    return h("section", { class: `box ${part}` }, h("h2", {}, PARTS[part]), content);
  }

  private turn(part: Part, on: boolean): void {
    this.on[part] = on;
    memory.set("panel", this.on);
    const box = part === "map" ? this.mapBox : this.boxes[part];
    if (box) box.hidden = !on;
  }

  get looks(): boolean {
    return this.on.looks;
  }

  /** Show a seat's last step. */
  show(seat: Seat): void {
    const isNet = seat.hands.brain !== null;
    for (const part of OF_NETS)
      this.boxes[part]!.hidden =
        !this.on[part] || !isNet || (part === "value" && !seat.hands.brain!.facts.value);
    if (isNet && this.on.sees) this.see(seat);
    if (isNet && this.on.thinks) this.think(seat);
    if (isNet && this.on.value) this.chart.draw(seat.values);
    if (this.on.scores) this.score(seat);
  }

  /** Show the buttons of the frame that is played. */
  press(seat: Seat): void {
    if (!this.on.buttons) return;
    const last = seat.episode.pads.at(-1) ?? 0;
    const pad = last & PAD.C ? (last & ~PAD.C) | PAD.B : last; // both are the jump
    for (const span of this.pad.children as Iterable<HTMLElement> & HTMLCollection)
      span.toggleAttribute("data-on", (pad & PAD[span.dataset.button as keyof typeof PAD]) !== 0);
    const names = Object.entries(PAD).filter(([, bit]) => pad & bit);
    this.pad.setAttribute(
      "aria-label",
      `Pressed: ${names.map(([name]) => name).join(" ") || "nothing"}`,
    );
  }

  private see(seat: Seat): void {
    const [channels, height, width] = seat.engine.shape;
    const colours = seat.hands.brain!.facts.channels;
    const frames = channels / colours;
    while (this.pictures.children.length > frames) this.pictures.lastChild!.remove();
    while (this.pictures.children.length < frames)
      this.pictures.append(
        h("canvas", { role: "img", "aria-label": "A picture that the net sees" }),
      );
    const seen = seat.engine.observation();
    if (this.picture?.width !== width || this.picture.height !== height)
      this.picture = new ImageData(width, height);
    const size = width * height;
    [...this.pictures.children].forEach((canvas, frame) => {
      const screen = canvas as HTMLCanvasElement;
      if (screen.width !== width) [screen.width, screen.height] = [width, height];
      const { data } = this.picture!;
      for (let i = 0; i < size; i++)
        for (let colour = 0; colour < 4; colour++)
          data[4 * i + colour] =
            colour === 3 ? 255 : seen[(frame * colours + (colours === 1 ? 0 : colour)) * size + i];
      context(screen).putImageData(this.picture!, 0, 0);
    });
  }

  private think(seat: Seat): void {
    const { actions, thought, brain } = seat.hands;
    if (!thought) return;
    const { logits } = brain!.facts;
    const shares = logits ? probabilities(thought.scores) : scaled(thought.scores);
    if (this.bars.children.length !== actions.length)
      this.bars.replaceChildren(
        ...actions.map((name) =>
          h("div", { class: "bar" }, h("span", {}, actionText(name)), h("i"), h("output")),
        ),
      );
    actions.forEach((_, i) => {
      const [, bar, text] = this.bars.children[i].children as unknown as [
        Element,
        HTMLElement,
        Element,
      ];
      bar.style.setProperty("--share", String(shares[i]));
      text.textContent = logits ? `${Math.round(100 * shares[i])} %` : thought.scores[i].toFixed(2);
    });
  }

  private score(seat: Seat): void {
    const { total, progress, steps } = seat.episode;
    const rows: [string, number, number | null][] = [[seat.hands.name, total, progress]];
    for (const [id, name] of [
      ["random", "Random play"],
      ["run-and-jump", "Run and jump"],
      ["oracle", "Oracle"],
    ]) {
      const known = reference(seat.act, id);
      if (known) rows.push([name, known[0], null]);
    }
    if (this.scores.children.length !== rows.length)
      this.scores.replaceChildren(
        ...rows.map(() => h("div", { class: "bar" }, h("span"), h("i"), h("output"))),
      );
    rows.forEach(([name, points_, way], i) => {
      const [label, bar, text] = this.scores.children[i].children as unknown as [
        HTMLElement,
        HTMLElement,
        Element,
      ];
      label.textContent = label.title = name;
      bar.style.setProperty("--share", String(Math.max(0, Math.min(1, points_ / 10_000))));
      text.textContent =
        way === null ? points(points_) : `${points(points_)} · ${Math.round(100 * way)} %`;
    });
    this.scores.title = `${steps} steps`;
  }

  places(seats: Seat[], ends: Place[]): void {
    if (!this.on.map) return;
    this.map.show(seats[0].act);
    this.map.mark(
      seats.map(({ engine }) => engine.see()),
      ends,
    );
  }
}

/** Expected returns from 0, the worst action's, to 1. */
function scaled(scores: Float32Array): number[] {
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  return Array.from(scores, (score) => (score - low) / (high - low || 1));
}
