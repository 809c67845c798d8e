/** What JERK remembers of an act, as jerk/memory.py, jerk/sequence.py and jerk/recovery.py. */

import { JUMP } from "../game/rules";
import { applied, likeliest, type Slot } from "./slots";

/** Largest difference between the returns of two similar steps. */
const NEAR = 16;
/** Differences in return, in the last reward and in steps since a jump that have equal weight. */
const SCALE = { total: 12, reward: 6, jump: 4 };
export const JUMP_STEPS = 12;
const JUMP_MOST = 6;
/** Steps with a larger distance are not similar. */
const COST = 1.5;
/** A sequence to continue with has this share of the best mean, so much more return, more steps. */
const GOOD = 0.6;
const MORE = 400;
const LEFT = 10;

export interface Place {
  gained: number;
  reward: number;
  sinceJump: number;
}

/** The actions of an episode up to its furthest point. */
export class StoredSequence {
  readonly slots: Slot[] = [];
  /** The step at which each replay left the plan. */
  readonly ends: number[] = [];
  /** The return before each action. */
  readonly gained: Float64Array;
  readonly whole: number;

  constructor(
    readonly number: number,
    readonly actions: Uint8Array,
    private readonly returns: number[],
    readonly rewards: number[],
  ) {
    let sum = 0;
    this.gained = Float64Array.from(rewards, (reward) => (sum += reward) - reward);
    this.whole = sum;
  }

  get mean(): number {
    return this.returns.reduce((a, b) => a + b, 0) / this.returns.length;
  }

  /** Add the return of one more replay; the latest ones count. */
  add(value: number, latest: number): void {
    this.returns.push(value);
    this.returns.splice(0, this.returns.length - latest);
  }

  /** The actions, with the likeliest variant of each slot. */
  improved(): Uint8Array {
    return applied(this.actions, this.slots, likeliest(this.slots));
  }

  /** The steps since the last jump, before a step. */
  sinceJump(step: number): number {
    for (let back = 1; back <= JUMP_STEPS && back <= step; back++)
      if (this.actions[step - back] === JUMP) return back - 1;
    return JUMP_STEPS;
  }
}

export class Sequences {
  readonly all: StoredSequence[] = [];
  private next = 0;

  constructor(private readonly capacity: number) {}

  /** The one with the largest mean, the oldest of equals. */
  best(): StoredSequence | null {
    return this.all.reduce<StoredSequence | null>(
      (best, one) => (best === null || one.mean > best.mean ? one : best),
      null,
    );
  }

  /** Store a run; the worst makes room. */
  add(
    actions: Uint8Array,
    value: number,
    rewards: number[],
    latest: number,
  ): StoredSequence | null {
    const same = this.all.find(
      (one) =>
        one.actions.length === actions.length &&
        one.actions.every((action, i) => action === actions[i]),
    );
    if (same) {
      same.add(value, latest);
      return same;
    }
    const made = new StoredSequence(this.next++, actions, [value], rewards);
    this.all.push(made);
    while (this.all.length > this.capacity) {
      const worst = this.all.reduceRight((low, one) => (one.mean < low.mean ? one : low));
      this.all.splice(this.all.indexOf(worst), 1);
    }
    return this.all.includes(made) ? made : null;
  }

  /** The sequence and step that are most similar to a place; null if none is. */
  nearest(place: Place): [StoredSequence, number] | null {
    const best = this.best()?.mean ?? 0;
    if (best <= 0) return null;
    let least = COST;
    let found: [StoredSequence, number] | null = null;
    for (const one of this.all) {
      const share = one.mean / best;
      if (share < GOOD || one.whole <= place.gained + MORE) continue;
      for (let step = 0; step < one.actions.length - LEFT; step++) {
        const apart = Math.abs(one.gained[step] - place.gained);
        if (apart > NEAR) continue;
        const jumps = Math.min(JUMP_MOST, Math.abs(one.sinceJump(step) - place.sinceJump));
        const reward = step ? one.rewards[step - 1] : 0;
        const cost =
          apart / SCALE.total +
          Math.abs(reward - place.reward) / SCALE.reward +
          jumps / SCALE.jump -
          (share - 1);
        if (cost < least) [least, found] = [cost, [one, step]];
      }
    }
    return found;
  }
}
