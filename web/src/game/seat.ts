/** A game and whoever plays it. */

import type { Engine } from "../engine/engine";
import type { Player } from "../players/players";
import { Episode } from "./episode";
import type { Rule } from "./rules";
import type { Act } from "./world";

/** One step's numbers, for curves. */
export interface Moment {
  value: number | null;
  total: number;
  x: number;
  y: number;
}

export class Seat {
  episode: Episode;
  readonly history: Moment[] = [];
  /** Whether a person has taken over. */
  taken = false;
  private thinking = false;
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
      fail(error: Error): void;
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
  }

  /** Play up to `due` frames, as far as the player has decided. Returns how many were played. */
  pump(due: number, onward: () => void): number {
    let played = 0;
    while (played < due && !this.thinking && !this.episode.over) {
      if (this.episode.waits && !this.decide(onward)) break;
      const over = this.episode.frame();
      played++;
      if (over) this.ended();
    }
    return played;
  }

  /** Ask for the next pad. Returns whether it is there. */
  private decide(onward: () => void): boolean {
    const episode = this.episode;
    const pad = this.current.pad(episode);
    if (typeof pad === "number") {
      episode.choose(pad);
      return true;
    }
    this.thinking = true;
    pad.then(
      (decided) => {
        this.thinking = false;
        if (episode === this.episode && episode.waits) episode.choose(decided);
        onward();
      },
      (error: Error) => this.tell.fail(error),
    );
    return false;
  }

  private ended(): void {
    const { x, y } = this.engine.see();
    const value = this.current.thought?.value ?? null;
    this.history.push({ value, total: this.episode.total, x, y });
    this.tell.step(this);
    if (this.episode.over) this.tell.end(this);
  }
}
