/** The view of games that the studio's machine plays: those in an emulator, and Procgen. */

import { button, choice, h, toggle } from "../views/dom";
import { ask, queryOf, type Agent } from "./api";
import { Pane } from "./pane";
import type { View } from "./view";

const SPEEDS = ["0.25", "0.5", "1", "2", "4"];
const KEYS: Record<string, string> = {
  ArrowLeft: "LEFT",
  ArrowRight: "RIGHT",
  ArrowUp: "UP",
  ArrowDown: "DOWN",
  Space: "B",
};
const NOBODY = "";

export class Live implements View {
  private readonly notice = h("p", { class: "notice", role: "alert", hidden: true });
  private readonly panes = [0, 1].map(() => new Pane((text) => this.say(text)));
  private readonly agents = h("datalist", { id: "agents" });
  private readonly levels = h("datalist", { id: "levels" });
  private readonly agent = this.field("Agent", "ppo2", "agents");
  private readonly other = this.field("Beside it", NOBODY, "agents");
  private readonly level = this.field("Level", "BrambleDash-Genesis-v0:BrambleWood.Act1", "levels");
  private readonly seed = this.field("Seed", "0");
  private readonly pause = button("Pause", () => this.turn());
  private paused = false;
  private speed: Record<string, unknown> = { do: "speed", speed: 1 };
  private looks: Record<string, unknown> = { do: "blind" };
  private readonly held = new Set<string>();
  readonly root: HTMLElement;

  constructor() {
    const begin = button("Play", () => this.go(), { class: "main" });
    const speed = choice(
      "Speed",
      SPEEDS.map((one) => [one, `${one} ×`]),
      "1",
      (value) => this.tell((this.speed = { do: "speed", speed: Number(value) })),
    );
    const fields = [this.agent, this.other, this.level, this.seed].map(({ box }) => box);
    this.panes[1].root.hidden = true;
    this.root = h(
      "main",
      { class: "live" },
      this.notice,
      h(
        "section",
        { class: "controls", "aria-label": "Controls" },
        h("div", { class: "fields" }, ...fields, begin),
        h(
          "div",
          { class: "buttons" },
          this.pause,
          button("Step", () => this.single()),
          button("Next episode", () => this.tell({ do: "again" })),
          button("End", () => this.end()),
          speed,
          toggle("Where it looks", false, (on) =>
            this.tell((this.looks = { do: on ? "look" : "blind" })),
          ),
        ),
        h(
          "p",
          { class: "line" },
          "This machine plays: the emulator with your own games too, and Procgen. Arrow keys and Space play while they are held.",
        ),
      ),
      h("div", { class: "panes" }, ...this.panes.map(({ root }) => root)),
      this.agents,
      this.levels,
    );
    window.addEventListener("keydown", (event) => this.key(event, true));
    window.addEventListener("keyup", (event) => this.key(event, false));
  }

  show(query: URLSearchParams): void {
    if (!this.agents.children.length) void this.offer();
    for (const name of ["agent", "other", "level", "seed"] as const)
      if (query.has(name)) this[name].input.value = query.get(name)!;
    if (query.has("agent")) this.play();
  }

  hide(): void {
    this.end();
  }

  private field(label: string, value: string, list = "") {
    const input = h("input", { type: "text", value, ...(list && { list }) });
    const name = label.split(" ")[0].toLowerCase();
    return { input, box: h("label", { class: `field ${name}` }, h("span", {}, label), input) };
  }

  private say(text: string): void {
    this.notice.hidden = !text;
    this.notice.textContent = text;
  }

  private async offer(): Promise<void> {
    try {
      const [agents, levels] = await Promise.all([ask<Agent[]>("agents"), ask<string[]>("levels")]);
      this.agents.append(...agents.map(({ id }) => h("option", { value: id })));
      this.levels.append(...levels.map((value) => h("option", { value })));
    } catch (error) {
      this.say((error as Error).message);
    }
  }

  private go(): void {
    const [agent, other, level, seed] = [this.agent, this.other, this.level, this.seed].map(
      ({ input }) => input.value,
    );
    const hash = `#/live?${queryOf({ agent, ...(other && { other }), level, seed })}`;
    if (location.hash === hash) this.play();
    else location.hash = hash;
  }

  private play(): void {
    this.say("");
    this.paused = false;
    this.pause.textContent = "Pause";
    const [level, seed] = [this.level.input.value, this.seed.input.value];
    [this.agent, this.other].forEach(({ input }, i) => {
      this.panes[i].root.hidden = input.value === NOBODY;
      if (input.value === NOBODY) this.panes[i].end();
      else this.panes[i].begin({ agent: input.value, level, seed }, [this.speed, this.looks]);
    });
  }

  private end(): void {
    for (const pane of this.panes) pane.end();
  }

  private tell(word: Record<string, unknown>): void {
    for (const pane of this.panes) pane.tell(word);
  }

  private turn(): void {
    this.paused = !this.paused;
    this.pause.textContent = this.paused ? "Play on" : "Pause";
    this.tell({ do: this.paused ? "pause" : "go" });
  }

  private single(): void {
    this.paused = true;
    this.pause.textContent = "Play on";
    this.tell({ do: "step" });
  }

  private key(event: KeyboardEvent, down: boolean): void {
    const name = KEYS[event.code];
    const inField = (event.target as HTMLElement).closest?.("input, select, textarea, button");
    if (!name || inField || !this.panes[0].playing || event.repeat) return;
    event.preventDefault();
    if (down) this.held.add(name);
    else this.held.delete(name);
    const action = this.held.size ? nearest(this.panes[0].names, this.held) : null;
    this.panes[0].tell({ do: "act", action });
  }
}

/** The action whose buttons fit best to those that are held. */
function nearest(names: string[], held: Set<string>): number {
  const fits = names.map((name) => {
    const buttons = name.replace(/^D$/, "B").split(" ").filter(Boolean); // D is Procgen's
    const common = buttons.filter((one) => held.has(one)).length;
    return 2 * common - buttons.length + (buttons.includes("B") && held.has("B") ? 0.5 : 0);
  });
  return fits.indexOf(Math.max(...fits));
}
