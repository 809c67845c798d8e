/** A person's buttons: keyboard, gamepad and touch. */

import { PAD } from "../engine/engine";
import { h, isForControl } from "./dom";
import type { Player } from "../players/players";

const KEYS: Record<string, number> = {
  ArrowLeft: PAD.LEFT,
  ArrowRight: PAD.RIGHT,
  ArrowUp: PAD.UP,
  ArrowDown: PAD.DOWN,
  KeyA: PAD.LEFT,
  KeyD: PAD.RIGHT,
  KeyW: PAD.UP,
  KeyS: PAD.DOWN,
  Space: PAD.B,
  KeyX: PAD.B,
  KeyC: PAD.B,
  KeyJ: PAD.B,
};
const STICK = 0.4;
/** The standard gamepad's buttons that jump, and its cross. */
const JUMPS = [0, 1, 2, 3];
const CROSS: [number, number][] = [
  [12, PAD.UP],
  [13, PAD.DOWN],
  [14, PAD.LEFT],
  [15, PAD.RIGHT],
];

export class Person implements Player {
  readonly name = "You";
  readonly actions: string[] = [];
  readonly thought = null;
  readonly brain = null;
  private keys = 0;
  private touches = 0;
  /** Whether keys are for the game. */
  wanted: () => boolean = () => true;
  /** Called at each press of a button of the game. */
  onpress: () => void = () => {};
  readonly touch = this.pads();

  constructor() {
    window.addEventListener("keydown", (event) => {
      const bit = KEYS[event.code];
      if (!bit || !this.wanted() || isForControl(event)) return;
      event.preventDefault();
      if (!event.repeat) this.onpress();
      this.keys |= bit;
    });
    window.addEventListener("keyup", (event) => (this.keys &= ~(KEYS[event.code] ?? 0)));
    window.addEventListener("blur", () => (this.keys = this.touches = 0));
  }

  pad(): number {
    let pad = this.keys | this.touches | gamepad();
    if (pad & PAD.LEFT && pad & PAD.RIGHT) pad &= ~PAD.LEFT;
    if (pad & PAD.UP && pad & PAD.DOWN) pad &= ~PAD.UP;
    return pad;
  }

  /** Buttons for fingers; a finger may slide from one to the next. */
  private pads(): HTMLElement {
    const one = (text: string, bit: number, name: string) =>
      h("span", { class: "key", "data-bit": bit, role: "img", "aria-label": name }, text);
    const left = h(
      "div",
      { class: "cross" },
      one("←", PAD.LEFT, "left"),
      one("↓", PAD.DOWN, "down"),
      one("→", PAD.RIGHT, "right"),
    );
    const root = h(
      "div",
      { class: "touch", "aria-hidden": "true" },
      left,
      h("div", { class: "jump" }, one("jump", PAD.B, "jump")),
    );
    const update = (event: TouchEvent) => {
      event.preventDefault();
      const before = this.touches;
      this.touches = 0;
      for (const { clientX, clientY } of event.touches) {
        const key = document.elementFromPoint(clientX, clientY)?.closest<HTMLElement>(".key");
        this.touches |= Number(key?.dataset.bit ?? 0);
      }
      if (this.touches & ~before) this.onpress();
      for (const key of root.querySelectorAll<HTMLElement>(".key"))
        key.toggleAttribute("data-on", (this.touches & Number(key.dataset.bit)) !== 0);
    };
    for (const type of ["touchstart", "touchmove", "touchend", "touchcancel"] as const)
      root.addEventListener(type, update, { passive: false });
    return root;
  }
}

function gamepad(): number {
  let pad = 0;
  for (const one of navigator.getGamepads?.() ?? []) {
    if (!one?.connected) continue;
    if (JUMPS.some((button) => one.buttons[button]?.pressed)) pad |= PAD.B;
    for (const [button, bit] of CROSS) if (one.buttons[button]?.pressed) pad |= bit;
    const [x = 0, y = 0] = one.axes;
    pad |=
      (x < -STICK ? PAD.LEFT : x > STICK ? PAD.RIGHT : 0) |
      (y < -STICK ? PAD.UP : y > STICK ? PAD.DOWN : 0);
  }
  return pad;
}
