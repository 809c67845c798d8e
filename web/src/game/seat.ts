/** A game and whoever plays it. */

import type { Engine } from "../engine/engine";
import type { Player } from "../players/players";
import { Episode } from "./episode";
import type { Rule } from "./rules";
import type { Act } from "./world";

export class Seat {
  episode: Episode;
  /** What its net expected before each of its steps so far. */
  readonly values: number[] = [];
  /** Whether a person has taken over. */
  taken = false;
  /** The pad that is waited for. Nobody asks again for one that failed. */
  private asked: Promise<number> | null = null;
  private current: Player;

  constructor(
    readonly engine: Engine,
    readonly act: Act,
    readonly rule: Rule,
    readonly player: Player,
    seed: number,
    private readonly tell: {
      step(seat: Seat): void;
      end(seat: Seat): void;
      fail(seat: Seat, error: Error): void;
    },
  ) {
    this.current = player;
    this.episode = new Episode(engine, act.number, rule, seed);
  }

  /** Whoever presses the buttons now. */
  get hands(): Player {
    return this.current;
  }

  /** Give the game to another player in the middle of the episode, or back. */
  give(to: Player | null): void {
    this.current = to ?? this.player;
    this.taken = to !== null;
    this.asked = null;
  }

  /** Play up to `due` frames, as far as the player has decided. Returns how many were played. */
  pump(due: number, onward: () => void): number {
    let played = 0;
    while (played < due && !this.asked && !this.episode.over) {
      if (this.episode.waits && !this.decide(onward)) break;
      const over = this.episode.frame();
      played++;
      if (over) this.ended();
    }
    return played;
  }

  /** Ask for the next pad. Returns whether it is there. */
  private decide(onward: () => void): boolean {
    const pad = this.current.pad(this.episode);
    if (typeof pad === "number") {
      this.episode.choose(pad);
      return true;
    }
    this.asked = pad;
    pad.then(
      (decided) => {
        if (pad !== this.asked) return; // another player has the game now
        this.asked = null;
        this.episode.choose(decided);
        onward();
      },
      (error: Error) => {
        if (pad === this.asked) this.tell.fail(this, error);
      },
    );
    return false;
  }

  private ended(): void {
    const value = this.current.thought?.value ?? null;
    if (value !== null) this.values.push(value);
    this.tell.step(this);
    if (this.episode.over) this.tell.end(this);
  }
}
