/** The page's head with its views, and all that can be set. */

import type { App } from "../app";
import { format, type Mode } from "../game/link";
import { titleOf } from "../game/world";
import { button, choice, h, isTouched, points, toggle } from "./dom";

const VIEWS: [Mode, string][] = [
  ["watch", "Watch"],
  ["play", "Play"],
  ["race", "Race"],
  ["learn", "Learn"],
];
const SPEEDS: [string, string][] = [
  ["0.5", "½ ×"],
  ["1", "1 ×"],
  ["2", "2 ×"],
  ["4", "4 ×"],
  ["8", "8 ×"],
];
const LEARNED = "PPO2 and Rainbow learned from pixels, never on the acts marked “never seen”.";
const SAME = "The same act and seed for everybody; the Oracle alone has buttons that never stick.";
const LEDES = {
  watch: `${LEARNED} An arrow key takes over.`,
  play: "Arrow keys run, look and crouch; Space jumps. Crouch, then jump, charges a dash. A gamepad works too.",
  race: `${SAME} Arrow keys run, Space jumps.`,
  learn: "“Learn this act” starts an agent that learns in front of you, in seconds.",
  replay: "A recording plays an earlier episode again. “Play this act” lets you try it.",
};
/** Where fingers play. */
const TOUCHED: Partial<typeof LEDES> = {
  watch: `${LEARNED} An arrow below the game takes over.`,
  play: "The arrows below the game run and crouch; “jump” jumps. Crouch, then jump, charges a dash.",
  race: `${SAME} The arrows below the game run, “jump” jumps.`,
};
/** docs/web.md has the same table. */
const KEYS = [
  ["← → ↑ ↓, or A D W S", "run, look up, crouch"],
  ["Space, X, C or J", "jump"],
  ["P", "pause, or play on"],
  [".", "play one step, and pause"],
  ["R", "begin again"],
  ["H", "hand back to the agent"],
];
const MOST = 4;

export class Controls {
  private readonly links = VIEWS.map(([, name]) => h("a", {}, name));
  private readonly lede = h("p", { class: "lede" });
  readonly header = h(
    "header",
    {},
    h("h1", {}, h("a", { href: "#" }, "BrambleDash")),
    h("nav", { "aria-label": "Views" }, ...this.links),
    this.lede,
  );
  private readonly line = h("p", { class: "line" });
  private readonly buttons = h("div", { class: "buttons" });
  private readonly fields = h("div", { class: "fields" });
  private readonly file = h("input", {
    type: "file",
    accept: ".onnx,.bk2",
    class: "file",
    onchange: () => this.pick(),
  });
  private readonly open = h(
    "label",
    { class: "open", title: "Or drop a file on the page" },
    this.file,
    "Open .onnx or .bk2",
  );
  readonly root = h(
    "section",
    { class: "controls", "aria-label": "Controls" },
    this.line,
    this.buttons,
    this.fields,
  );
  readonly keys = h(
    "details",
    { class: "switches keys" },
    h("summary", {}, "Keys"),
    h(
      "table",
      {},
      ...KEYS.map(([key, does]) => h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, does))),
    ),
  );
  private number: HTMLInputElement | null = null;
  /** What the controls were made for. */
  private made = "";

  constructor(private readonly app: App) {
    window.addEventListener("keydown", (event) => {
      const inField = document.activeElement?.closest("input, select, textarea");
      if (!this.root.isConnected || !app.seats.length || inField) return;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.repeat && event.code !== "Period") return; // a key that is held turns once
      if (event.code === "KeyP") this.turn();
      if (event.code === "Period") this.single();
      if (event.code === "KeyH") this.app.handBack();
      if (event.code === "KeyR") this.app.again();
    });
  }

  private pick(): void {
    const chosen = this.file.files?.[0];
    if (chosen) void this.app.open(chosen);
    this.file.value = "";
  }

  private turn(): void {
    this.app.clock.paused = !this.app.clock.paused;
    this.show();
  }

  /** Play one agent step while paused. */
  private single(): void {
    this.app.clock.paused = true;
    this.app.clock.advance(this.app.seats[0].rule.frameSkip);
    this.show();
  }

  /** Make all controls anew, if what is shown is another: typing and open menus would be lost. */
  show(): void {
    this.update();
    const { app } = this;
    const state = app.current;
    const { mode, seed, replay } = state;
    const { activeElement } = document;
    VIEWS.forEach(([view], i) => {
      this.links[i].href = format({ ...state, mode: view, replay: "" });
      this.links[i].ariaCurrent = view === mode ? "page" : null;
    });
    if (this.number && this.number !== activeElement) this.number.value = String(seed);
    const now = [{ ...state, seed: 0 }, this.names(), app.clock.paused, app.seats[0]?.taken];
    const made = JSON.stringify(now);
    if (made === this.made) return;
    this.made = made;
    const focus = this.root.contains(activeElement) && activeElement?.getAttribute("data-key");
    const what = replay ? "replay" : mode;
    this.lede.textContent = (isTouched() && TOUCHED[what]) || LEDES[what];
    this.buttons.replaceChildren(...this.makeButtons());
    this.fields.replaceChildren(...this.makeFields(), this.open);
    this.fields.hidden = !this.fields.children.length;
    if (focus) this.root.querySelector<HTMLElement>(`[data-key="${focus}"]`)?.focus();
  }

  private makeButtons(): HTMLElement[] {
    const { app } = this;
    const seat = app.seats[0];
    const { mode, replay } = app.current;
    /** Does what a button is for, and leaves it where Space is for the game. */
    const then = (act: () => void) => (event: Event) => {
      if (mode === "play" || mode === "race") (event.currentTarget as HTMLElement).blur();
      act();
    };
    const made = [
      button(
        app.clock.paused ? "Play on" : "Pause",
        then(() => this.turn()),
        {
          "data-key": "pause",
          title: "P",
        },
      ),
      button("Step", () => this.single(), { "data-key": "step", title: "." }),
      button(
        "Again",
        then(() => app.again()),
        { "data-key": "again", title: "R" },
      ),
    ];
    if (replay)
      made.push(button("Play this act", () => app.go({ mode: "play" }), { class: "main" }));
    if (mode === "watch" && !replay)
      made.push(
        seat.taken
          ? button("Hand back", () => app.handBack(), {
              "data-key": "take",
              class: "main",
              title: "H",
            })
          : button("Take over", () => app.takeOver(), {
              "data-key": "take",
              class: "main",
              title: "any key of the game",
            }),
      );
    const speed = choice(
      "Speed",
      SPEEDS,
      String(app.clock.speed),
      (value) => (app.clock.speed = Number(value)),
    );
    speed.classList.add("inline");
    return [...made, speed];
  }

  /** The players for a menu; those who cannot play this act cannot be chosen. */
  private names(): [string, string, boolean][] {
    const { app } = this;
    return [...app.players].map(([id, name]) => {
      const lack = app.lacks(id);
      return [id, lack ? `${name} (${lack})` : name, lack !== ""];
    });
  }

  private makeFields(): HTMLElement[] {
    const { app } = this;
    const { mode, seed, sticky, free, players, replay } = app.current;
    this.number = null;
    if (replay || mode === "learn") return [];
    const names = this.names();
    for (const id of new Set(players))
      if (id !== "you" && !app.players.has(id)) names.push([id, `${id}: not here`, false]);
    const made: HTMLElement[] = [];
    if (mode === "watch")
      made.push(choice("Player", names, players[0], (id) => app.go({ players: [id] })));
    if (mode === "play")
      made.push(
        choice(
          "Rules",
          [
            ["1", "Free play"],
            ["0", "The contest's"],
          ],
          free ? "1" : "0",
          (value) => app.go({ free: value === "1" }),
        ),
      );
    if (mode === "race") made.push(...this.racers([["you", "You", false], ...names], players));
    const number = h("input", {
      type: "number",
      "data-key": "seed",
      min: 0,
      step: 1,
      value: seed,
      onchange: () => app.go({ seed: Math.max(0, Math.floor(Number(number.value)) || 0) }),
    });
    this.number = number;
    const chance = "What chance decides: when buttons stick, and an agent's draws";
    made.push(h("label", { class: "field seed", title: chance }, h("span", {}, "Seed"), number));
    if (mode !== "play" || !free) {
      const sticks = toggle("Sticky buttons: presses may come late", sticky, (on) =>
        app.go({ sticky: on }),
      );
      sticks.title =
        "As in the contest: with probability 0.25 the first of a step's four frames still has the buttons of the step before";
      made.push(sticks);
    }
    return made;
  }

  private racers(names: [string, string, boolean][], players: string[]): HTMLElement[] {
    const { app } = this;
    const made: HTMLElement[] = players.map((id, i) =>
      choice(`Lane ${i + 1}`, i > 1 ? [...names, ["", "– leave –", false]] : names, id, (value) =>
        app.go({ players: players.map((one, j) => (i === j ? value : one)).filter(Boolean) }),
      ),
    );
    if (players.length < MOST)
      made.push(
        button("Add a racer", () => app.go({ players: [...players, "rainbow"] }), {
          "data-key": "add",
        }),
      );
    return made;
  }

  /** The line that says where the game stands. */
  update(): void {
    const { app } = this;
    const seat = app.seats[0];
    if (!seat) return;
    const { total, progress, seed } = seat.episode;
    const where = `${titleOf(app.act)} · ${app.act.kind} · seed ${seed}`;
    const stands = `${points(total)} points · ${Math.round(100 * progress)} %`;
    const text = `${where} · ${stands}`;
    if (this.line.textContent !== text) this.line.textContent = text;
  }
}
