/** The page's head with its views, and all that can be set. */

import type { App } from "../app";
import { format, type Mode } from "../game/link";
import { titleOf } from "../game/world";
import { button, choice, h, points, toggle } from "./dom";

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
const LEDES: Record<Mode, string> = {
  watch:
    "PPO2 and Rainbow learned from pixels, never on the acts marked “never seen”. An arrow key takes over.",
  play: "Arrow keys run, look and crouch; Space jumps. Crouch, then jump, charges a dash. A gamepad works too.",
  race: "The same act and seed for everybody; the Oracle alone has buttons that never stick. Arrow keys run, Space jumps.",
  learn: "“Learn this act” starts an agent that learns in front of you, in seconds.",
};
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
  private pause: HTMLButtonElement | null = null;
  /** What the controls were made for. */
  private made = "";

  constructor(private readonly app: App) {
    window.addEventListener("keydown", (event) => {
      const inField = (event.target as HTMLElement).closest?.("input, select, textarea");
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
    const now = [state, [...app.players], app.clock.paused, app.seats[0]?.taken];
    const made = JSON.stringify(now);
    if (made === this.made) return;
    this.made = made;
    const { activeElement } = document;
    const focus = this.root.contains(activeElement) && activeElement?.getAttribute("data-key");
    const { mode } = state;
    VIEWS.forEach(([view], i) => {
      this.links[i].href = format({ ...state, mode: view, replay: "" });
      this.links[i].ariaCurrent = view === mode ? "page" : null;
    });
    this.lede.textContent = LEDES[mode];
    this.buttons.replaceChildren(...this.makeButtons());
    this.fields.replaceChildren(...this.makeFields(), this.open);
    this.fields.hidden = !this.fields.children.length;
    if (focus) this.root.querySelector<HTMLElement>(`[data-key="${focus}"]`)?.focus();
  }

  private makeButtons(): HTMLElement[] {
    const { app } = this;
    const seat = app.seats[0];
    const { mode, replay } = app.current;
    this.pause = button(app.clock.paused ? "Play on" : "Pause", () => this.turn(), {
      "data-key": "pause",
      title: "P",
    });
    const made = [
      this.pause,
      button("Step", () => this.single(), { "data-key": "step", title: "." }),
      button("Again", () => app.again(), { "data-key": "again", title: "R" }),
    ];
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

  private makeFields(): HTMLElement[] {
    const { app } = this;
    const { mode, seed, sticky, free, players, replay } = app.current;
    if (replay || mode === "learn") return [];
    const names = [...app.players];
    for (const id of new Set(players))
      if (id !== "you" && !app.players.has(id)) names.push([id, `${id}: not here`]);
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
    if (mode === "race") made.push(...this.racers([["you", "You"], ...names], players));
    const number = h("input", {
      type: "number",
      "data-key": "seed",
      min: 0,
      step: 1,
      value: seed,
      onchange: () => app.go({ seed: Math.max(0, Math.floor(Number(number.value)) || 0) }),
    });
    const chance = "What chance decides: when buttons stick, and an agent's draws";
    made.push(h("label", { class: "field seed", title: chance }, h("span", {}, "Seed"), number));
    if (mode !== "play" || !free) {
      const sticks = toggle("Sticky buttons", sticky, (on) => app.go({ sticky: on }));
      sticks.title =
        "As in the contest: with probability 0.25 the first of a step's four frames still has the buttons of the step before";
      made.push(sticks);
    }
    return made;
  }

  private racers(names: [string, string][], players: string[]): HTMLElement[] {
    const { app } = this;
    const made: HTMLElement[] = players.map((id, i) =>
      choice(`Lane ${i + 1}`, i > 1 ? [...names, ["", "– leave –"]] : names, id, (value) =>
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
