/** JERK's search with the preset `recovering`, as jerk/search.py and jerk/episode.py. */

import { JUMP } from "../game/rules";
import { Rhythm, type Draws } from "./explorer";
import { JUMP_STEPS, Sequences, type Place, type StoredSequence } from "./sequences";
import * as slots from "./slots";

/** jerk/presets/recovering.yaml. */
const PRESET = { exploitBias: 0.7, exploitGrowth: 0.3, keepRatio: 0.8, latest: 30 };
const CAPACITY = 100;
const OFF_RETURN = 20;
const OFF_STEPS = 4;
const GIVE_UP_STEPS = 8;

/** The actions that an episode plays first, and how many of them it has played. */
class Plan {
  pointer = 0;
  steps = 0;
  /** Steps played when the source's own actions ended; null while they last. */
  departed: number | null = null;
  off = 0;
  /** The step of the source at which the episode first diverged from it. */
  missed: number | null = null;
  chosen: number[] = [];

  constructor(
    readonly source: StoredSequence | null = null,
    public actions: Uint8Array = new Uint8Array(),
    public intact = actions.length,
    private expected: Float64Array | null = source?.gained ?? null,
  ) {}

  /** Whether the return has differed from the expected one for too many steps. */
  isLost(gained: number): boolean {
    if (!this.expected || this.pointer >= this.actions.length) return false;
    this.off = Math.abs(this.expected[this.pointer] - gained) > OFF_RETURN ? this.off + 1 : 0;
    const lost = this.off > OFF_STEPS;
    if (lost && this.missed === null && this.departed === null) this.missed = this.pointer;
    return lost;
  }

  follow(sequence: StoredSequence, step: number): void {
    [this.actions, this.expected, this.pointer] = [sequence.actions, sequence.gained, step];
    this.intact = this.off = 0;
  }

  giveUp(): void {
    this.actions = this.actions.slice(0, this.pointer);
    this.intact = Math.min(this.intact, this.pointer);
  }

  next(): number | null {
    if (this.steps - this.pointer > this.actions.length) this.giveUp();
    if (this.departed === null && this.pointer >= this.intact) this.departed = this.steps;
    if (this.pointer >= this.actions.length) return null;
    this.steps++;
    return this.actions[this.pointer++];
  }

  /** The step of the source up to which an ended episode followed it. */
  reached(source: StoredSequence): number {
    return this.missed ?? (this.departed === null ? this.pointer : source.actions.length);
  }
}

/** One episode of the search. */
export class Try {
  kind: "explore" | "replay" | "mutant" = "explore";
  plan = new Plan();
  readonly actions: number[] = [];
  readonly rewards: number[] = [];
  gained = 0;

  constructor(readonly rhythm: Rhythm) {}

  add(action: number, reward: number): void {
    this.actions.push(action);
    this.rewards.push(reward);
    this.gained += reward;
    this.rhythm.add(reward);
  }

  place(): Place {
    const latest = this.actions.lastIndexOf(JUMP);
    const since = latest < 0 ? JUMP_STEPS : Math.min(this.actions.length - 1 - latest, JUMP_STEPS);
    return { gained: this.gained, reward: this.rewards.at(-1) ?? 0, sinceJump: since };
  }
}

export class Search {
  readonly sequences = new Sequences(CAPACITY);

  /** timesteps: agent steps of the whole run. */
  constructor(
    private readonly draws: Draws,
    private readonly timesteps: number,
  ) {}

  begin(steps: number): Try {
    const { draws } = this;
    const best = this.sequences.best();
    const made = new Try(new Rhythm(draws));
    const done = steps / this.timesteps;
    if (!best) return made;
    if (draws.random() < Math.min(1, PRESET.exploitBias + PRESET.exploitGrowth * done)) {
      made.kind = "replay";
      const chosen = slots.choose(best.slots, best.actions, draws, done);
      made.plan = new Plan(best, slots.applied(best.actions, best.slots, chosen));
      made.plan.chosen = chosen;
    } else {
      made.kind = "mutant";
      const actions = best.improved();
      made.plan = new Plan(best, actions.slice(0, draws.below(actions.length + 1)));
    }
    return made;
  }

  action(one: Try): number {
    const { plan } = one;
    if (plan.isLost(one.gained)) {
      const found = this.sequences.nearest(one.place());
      if (found) plan.follow(...found);
      else if (plan.off > GIVE_UP_STEPS) plan.giveUp();
    }
    return plan.next() ?? one.rhythm.next(this.draws);
  }

  /** Learn from an ended episode. */
  end(one: Try): void {
    const { plan } = one;
    const before = this.sequences.best();
    const best = before?.mean ?? 0;
    if (one.kind === "replay" && plan.source) this.judge(one, plan.source);
    const [length, value] = furthestPoint(one.rewards);
    const known = plan.source !== null && (plan.departed === null || length <= plan.departed);
    const ratio = one.kind === "replay" ? 1 : PRESET.keepRatio;
    if (known || (best > 0 && value <= ratio * best)) return;
    this.sequences.add(
      Uint8Array.from(one.actions.slice(0, length)),
      value,
      one.rewards.slice(0, length),
      PRESET.latest,
    );
  }

  private judge({ rewards, plan }: Try, source: StoredSequence): void {
    source.add(Math.max(0, furthestPoint(rewards)[1]), PRESET.latest);
    const reached = plan.reached(source);
    slots.judge(source.slots, plan.chosen, reached);
    source.ends.push(reached);
    const slot = slots.opened(source.slots, reached, source.actions.length, source.ends);
    if (slot) source.slots.push(slot);
  }
}

/** Steps up to the first maximum of the running sum, and that sum. */
function furthestPoint(rewards: number[]): [number, number] {
  let [sum, most, length] = [0, -Infinity, 1];
  rewards.forEach((reward, i) => {
    sum += reward;
    if (sum > most) [most, length] = [sum, i + 1];
  });
  return [length, most];
}
