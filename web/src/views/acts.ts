/** The acts as cards with pictures, by zone. */

import { HEIGHT, WIDTH, type Engine } from "../engine/engine";
import { SEEDS, titleOf, type Act, type World } from "../game/world";
import { button, context, h } from "./dom";

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

interface Calls {
  /** Show a sentence, or none. */
  say(text: string): void;
  /** The act that is played was chosen again. */
  again(): void;
}

export class Acts {
  readonly root = h(
    "section",
    { class: "acts", "aria-labelledby": "acts-title" },
    h("h2", { id: "acts-title" }, "Acts"),
  );
  private readonly cards = new Map<string, HTMLAnchorElement>();
  /** Seed -> when its cards are there. */
  private readonly seeds = new Map<string, Promise<void>>();
  private readonly waiting: [Act, HTMLCanvasElement][] = [];
  private marked = "";
  private engine: { of: Uint8Array; engine: Engine } | null = null;

  constructor(
    private readonly world: World,
    private readonly link: (act: Act) => string,
    private readonly calls: Calls,
  ) {
    const show = (seed: string) =>
      this.show(seed).then(
        () => {
          calls.say("");
          this.root.querySelector(`[data-seed="${seed}"]`)?.scrollIntoView();
        },
        (error: Error) => calls.say(error.message),
      );
    const own = [...world.acts.values()];
    const first = h("div", {});
    // The cards take longer than the first picture, which therefore comes before them.
    requestAnimationFrame(() => setTimeout(() => first.append(this.zones(own))));
    this.root.append(
      first,
      h("h2", { class: "under" }, "New acts"),
      h(
        "p",
        {},
        "The level generator made these from seeds on which nobody learned. Each seed has 58 acts.",
      ),
      h(
        "div",
        { class: "buttons" },
        ...SEEDS.map((seed) => button(`Seed ${seed}`, () => void show(seed))),
      ),
    );
  }

  /** Fetch the acts of a seed and add their cards, once. */
  show(seed: string): Promise<void> {
    let shown = this.seeds.get(seed);
    if (!shown) {
      shown = this.world.fetchSeed(seed).then((acts) => this.add(acts, seed));
      shown.catch(() => this.seeds.delete(seed)); // the next try may go well
      this.seeds.set(seed, shown);
    }
    return shown;
  }

  private add(acts: Act[], seed: string): void {
    if (!acts.length) return;
    const title = h("h2", { class: "under", "data-seed": seed }, `New acts of seed ${seed}`);
    this.root.append(h("div", {}, title, this.zones(acts)));
  }

  /** The cards of acts, zone by zone. */
  private zones(acts: Act[]): HTMLElement {
    const list = h("div", { class: "zones" });
    for (const zone of new Set(acts.map((act) => act.zone))) {
      const cards = acts.filter((act) => act.zone === zone).map((act) => this.card(act));
      const name = zone.replace(/([a-z])([A-Z])/g, "$1 $2");
      list.append(
        h("div", { class: "zone" }, h("h3", {}, name), h("div", { class: "cards" }, ...cards)),
      );
    }
    setTimeout(() => this.paint(), 300);
    return list;
  }

  private card(act: Act): HTMLAnchorElement {
    const canvas = h("canvas", { width: WIDTH, height: HEIGHT, "aria-hidden": "true" });
    const kind = h("span", { class: `kind ${act.kind.replace(" ", "-")}` }, LABELS[act.kind]);
    const [, zone, number] = /^(.*) (\d+)$/.exec(titleOf(act))!;
    const title = h(
      "span",
      { class: "title" },
      h("span", { class: "unseen" }, `${zone} `),
      `Act ${number}`,
    );
    const card = h(
      "a",
      {
        class: "card",
        href: this.link(act),
        "data-act": act.id,
        onclick: ({ ctrlKey, metaKey }: MouseEvent) => {
          if (act.id === this.marked && !ctrlKey && !metaKey) this.calls.again(); // no new tab
        },
      },
      canvas,
      title,
      " ",
      kind,
    );
    card.ariaCurrent = act.id === this.marked ? "true" : null;
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
    if (this.engine?.of !== bytes)
      this.engine = { of: bytes, engine: this.world.engine(next[0], { pictures: false }) };
    picture(this.engine.engine, ...next);
    setTimeout(() => this.paint(), 4);
  }

  /** Mark the act that is played, and renew all links. */
  mark(id: string): void {
    this.marked = id;
    for (const [name, card] of this.cards) {
      card.ariaCurrent = name === id ? "true" : null;
      card.href = this.link(this.world.acts.get(name)!);
    }
  }
}
