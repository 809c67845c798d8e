/** The view of games that the studio's machine plays: those in an emulator, and Procgen. */

import { button, choice, freeKeys, h, isForControl, points, toggle } from "../views/dom";
import { ask, queryOf, type Agent } from "./api";
import { Pane } from "./pane";
import { Stream, type Word } from "./stream";
import { amount } from "./text";
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
  private readonly panes = [new Pane(), new Pane()];
  private readonly stream = new Stream(
    this.panes,
    (text) => this.say(text),
    () => {
      this.allow();
      this.judge();
    },
  );
  /** Who of two is ahead. */
  private readonly verdict = h("p", { class: "verdict", hidden: true });
  private readonly agents = h("datalist", { id: "agents" });
  private readonly levels = h("datalist", { id: "levels" });
  private readonly agent = this.field("Agent", "ppo2", "agents");
  private readonly other = this.field("Beside it", NOBODY, "agents");
  private readonly level = this.field("Level", "BrambleDash-Genesis-v0:BrambleWood.Act1", "levels");
  private readonly seed = this.field("Seed", "0");
  private readonly pause = button("Pause", () => this.turn());
  /** What needs a picture. */
  private readonly turns = [
    this.pause,
    button("Step", () => this.single()),
    button("Next episode", () => this.stream.tell({ do: "again" })),
  ];
  private readonly stop = button("End", () => this.end());
  private paused = false;
  private speed: Word = { do: "speed", speed: 1 };
  private looks: Word = { do: "blind" };
  private readonly held = new Set<string>();
  readonly root: HTMLElement;

  constructor() {
    const begin = button("Play", () => this.go(), { class: "main" });
    const speed = choice(
      "Speed",
      SPEEDS.map((one) => [one, `${one} ×`]),
      "1",
      (value) => this.stream.tell((this.speed = { do: "speed", speed: Number(value) })),
    );
    const fields = [this.agent, this.other, this.level, this.seed].map(({ box }) => box);
    this.panes[1].root.hidden = true;
    this.root = h(
      "main",
      { class: "live" },
      h(
        "p",
        { class: "line" },
        "These games run on this machine, where the studio runs: Procgen, and console games in the emulator, your own included. Two agents take each step together. Arrow keys and Space play the first one while they are held.",
      ),
      this.notice,
      h(
        "section",
        { class: "controls", "aria-label": "Controls" },
        h("div", { class: "fields" }, ...fields, begin),
        h(
          "div",
          { class: "buttons" },
          ...this.turns,
          this.stop,
          speed,
          toggle("Where it looks", false, (on) =>
            this.stream.tell((this.looks = { do: on ? "look" : "blind" })),
          ),
        ),
      ),
      this.verdict,
      h("div", { class: "panes" }, ...this.panes.map(({ root }) => root)),
      this.agents,
      this.levels,
    );
    this.allow();
    freeKeys(this.root);
    window.addEventListener("keydown", (event) => this.key(event, true));
    window.addEventListener("keyup", (event) => this.key(event, false));
    window.addEventListener("blur", () => this.release());
  }

  show(query: URLSearchParams): void {
    void this.offer();
    const plays = query.has("agent"); // all that it leaves out is then as on a new page
    for (const name of ["agent", "other", "level", "seed"] as const) {
      const { input } = this[name];
      if (plays || query.has(name)) input.value = query.get(name) ?? input.defaultValue;
    }
    if (plays) this.play();
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
      this.agents.replaceChildren(...agents.map(({ id }) => h("option", { value: id })));
      this.levels.replaceChildren(...levels.map((value) => h("option", { value })));
    } catch (error) {
      this.say((error as Error).message);
    }
  }

  private go(): void {
    const [agent, other, level, seed] = [this.agent, this.other, this.level, this.seed].map(
      ({ input }) => input.value,
    );
    const hash = `#/live?${queryOf({ agent, other, level, seed })}`;
    if (location.hash === hash) this.play();
    else location.hash = hash;
  }

  private play(): void {
    this.say("");
    this.paused = false;
    this.pause.textContent = "Pause";
    const [agent, other, level, seed] = this.asked();
    this.verdict.hidden = this.panes[1].root.hidden = other === NOBODY;
    this.verdict.textContent = "";
    [agent, other].forEach((name, i) => this.panes[i].begin(name));
    this.stream.begin(queryOf({ agent, other, level, seed }), [this.speed, this.looks]);
    this.allow();
  }

  private end(): void {
    this.held.clear();
    if (!this.stream.playing) return;
    this.stream.end();
    for (const pane of this.panes) pane.over();
    this.allow();
  }

  /** Switch the buttons on whose game there is. */
  private allow(): void {
    const { playing } = this.stream;
    this.stop.disabled = !playing;
    for (const one of this.turns) one.disabled = !playing || !this.panes[0].header;
  }

  private asked(): string[] {
    return [this.agent, this.other, this.level, this.seed].map(({ input }) => input.value.trim());
  }

  /** Say who is ahead. Both have made the same number of steps, but for one that has ended. */
  private judge(): void {
    const [one, other] = this.panes.map(({ header }) => header);
    if (!one || !other) return;
    const [first, second] = this.panes.map(({ agent }) => agent);
    const names = first === second ? ["the first", "the second"] : [first, second];
    const apart = Number((one.total - other.total).toFixed(3)); // but for rounding
    const ahead = apart
      ? `${names[Number(apart < 0)]} is ahead by ${amount(Math.abs(apart))} points`
      : "neither is ahead";
    const steps = points(Math.max(one.step, other.step));
    const when = one.over && other.over ? "Both have ended" : `After ${steps} steps`;
    this.verdict.textContent = `${when}: ${ahead}.`;
  }

  private turn(): void {
    this.paused = !this.paused;
    this.pause.textContent = this.paused ? "Resume" : "Pause";
    this.stream.tell({ do: this.paused ? "pause" : "go" });
  }

  private single(): void {
    this.paused = true;
    this.pause.textContent = "Resume";
    this.stream.tell({ do: "step" });
  }

  /** A key that is let go elsewhere is not heard here. */
  private release(): void {
    if (this.held.size) this.stream.tell({ do: "act", action: null });
    this.held.clear();
  }

  private key(event: KeyboardEvent, down: boolean): void {
    const name = KEYS[event.code];
    if (!name) return;
    if (down) {
      if (!this.stream.playing || isForControl(event)) return;
      event.preventDefault();
      if (event.repeat) return;
      this.held.add(name);
    } else if (!this.held.delete(name)) return; // wherever the focus is by now
    const action = this.held.size ? nearest(this.panes[0].header?.names ?? [], this.held) : null;
    this.stream.tell({ do: "act", action });
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
