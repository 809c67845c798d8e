/** The acts as cards with pictures, by zone. */

import { HEIGHT, WIDTH, type Engine } from "../engine/engine";
import { titleOf, type Act, type World } from "../game/world";
import { context, h } from "./dom";

const SECONDS = 2;
const LABELS = { training: "training", "never seen": "never seen", new: "new" };

/** Draws an act as it is a moment after its start. */
function picture(engine: Engine, act: Act, canvas: HTMLCanvasElement): void {
  engine.start(act.number);
  engine.play(new Uint8Array(SECONDS * 60).fill(8));
  const image = new ImageData(WIDTH, HEIGHT);
  engine.draw(image.data);
  context(canvas).putImageData(image, 0, 0);
}

export class Acts {
  readonly root = h("section", { class: "acts", "aria-labelledby": "acts-title" }, h("h2", { id: "acts-title" }, "Acts"));
  private readonly cards = new Map<string, HTMLAnchorElement>();
  private readonly waiting: [Act, HTMLCanvasElement][] = [];
  private engine: { of: Uint8Array; engine: Engine } | null = null;

  constructor(
    private readonly world: World,
    private readonly link: (act: Act) => string,
  ) {
    this.add([...world.acts.values()]);
  }

  /** Add the cards of acts, zone by zone. under: a title over them. */
  add(acts: Act[], under = ""): void {
    const list = h("div", { class: "zones" });
    for (const zone of new Set(acts.map((act) => act.zone))) {
      const cards = acts.filter((act) => act.zone === zone).map((act) => this.card(act));
      const name = zone.replace(/([a-z])([A-Z])/g, "$1 $2");
      list.append(h("div", { class: "zone" }, h("h3", {}, name), h("div", { class: "cards" }, ...cards)));
    }
    this.root.append(h("div", {}, under && h("h3", { class: "under" }, under), list));
    setTimeout(() => this.paint(), 300);
  }

  private card(act: Act): HTMLAnchorElement {
    const canvas = h("canvas", { width: WIDTH, height: HEIGHT, "aria-hidden": "true" });
    const kind = h("span", { class: `kind ${act.kind.replace(" ", "-")}` }, LABELS[act.kind]);
    const card = h("a", { class: "card", href: this.link(act), "data-act": act.id }, canvas, h("span", { class: "title" }, titleOf(act)), kind);
    this.cards.set(act.id, card);
    this.waiting.push([act, canvas]);
    return card;
  }

  /** Draw one picture after the other while nothing else is to do. */
  private paint(): void {
    const next = this.waiting.shift();
    if (!next) {
      this.engine = null; // frees its memory
      return;
    }
    const bytes = next[0].pack.bytes;
    if (this.engine?.of !== bytes) this.engine = { of: bytes, engine: this.world.engine(next[0], { pictures: false }) };
    picture(this.engine.engine, ...next);
    setTimeout(() => this.paint(), 4);
  }

  /** Mark the act that is played, and renew all links. */
  mark(id: string): void {
    for (const [name, card] of this.cards) {
      card.toggleAttribute("aria-current", name === id);
      card.href = this.link(this.world.acts.get(name)!);
    }
  }
}
