/** The games on the page and the clock that drives them: sixty frames a second at speed 1. */

import type { Seat } from "../game/seat";
import { h } from "./dom";
import { Screen } from "./screen";

/** A page that was away does not catch up. */
const LONGEST_MS = 100;

export class Stage {
  readonly root = h("div", { class: "stage" });
  seats: Seat[] = [];
  screens: Screen[] = [];
  speed = 1;
  paused = false;
  /** Asked before each picture: whether the games have yet to begin. */
  held: () => boolean = () => false;
  /** Called before each picture. */
  onpicture: () => void = () => {};
  private due: number[] = [];
  private before = 0;
  private dirty = true;

  constructor() {
    const tick = (now: number) => {
      this.tick(now);
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  /** Bring the games in sight. */
  show(): void {
    this.root.scrollIntoView({ block: "nearest" });
  }

  set(seats: Seat[]): void {
    this.seats = seats;
    this.due = seats.map(() => 0);
    if (this.screens.length !== seats.length) {
      this.screens = seats.map(() => new Screen());
      this.root.replaceChildren(...this.screens.map(({ root }) => root));
      this.root.dataset.games = String(seats.length);
    }
    this.screens.forEach((screen) => {
      screen.say(null);
      screen.look(null);
    });
    this.dirty = true;
    this.draw();
  }

  /** Play frames though it is paused. */
  advance(frames: number): void {
    this.due = this.due.map(() => frames);
    this.pump();
  }

  private tick(now: number): void {
    const passed = now - this.before;
    this.before = now;
    if (this.paused || this.held()) {
      if (this.dirty) this.draw();
      return;
    }
    const frames = (Math.min(passed, LONGEST_MS) * 60 * this.speed) / 1000;
    const most = Math.max(4, 8 * this.speed);
    this.due = this.due.map((due) => Math.min(due + frames, most));
    this.pump();
    this.draw();
  }

  private readonly pump = (): void => {
    this.seats.forEach((seat, i) => {
      const played = seat.pump(Math.floor(this.due[i] + 1e-6), this.pump);
      this.due[i] -= played;
      if (played) this.dirty = true;
    });
  };

  private draw(): void {
    if (!this.dirty || !this.seats.length) return;
    this.dirty = false;
    this.seats.forEach((seat, i) => this.screens[i].draw(seat.engine));
    this.onpicture();
  }
}
