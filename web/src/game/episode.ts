/** One episode in one engine, played frame by frame under a rule.
 *
 * Equal to Python's NativeEnv: same seed and actions give the same frames, rewards and end. */

import type { Engine } from "../engine/engine";
import { Random } from "../engine/random";
import type { Rule } from "./rules";

export class Episode {
  /** The pad of every frame so far: with the act, the whole episode. */
  readonly pads: number[] = [];
  /** Of the last step. */
  reward = 0;
  /** Return so far. */
  total = 0;
  steps = 0;
  terminated = false;
  truncated = false;
  private held: number | null = null;
  private queue: number[] = [];
  private readonly random: Random;

  /** act: its number in the engine. seed: of the sticky buttons. */
  constructor(
    readonly engine: Engine,
    readonly act: number,
    readonly rule: Rule,
    readonly seed: number,
  ) {
    this.random = new Random(seed);
    engine.start(act);
  }

  get over(): boolean {
    return this.terminated || this.truncated;
  }

  /** Whether the last step's frames were all played: the next one needs a pad. */
  get waits(): boolean {
    return !this.queue.length && !this.over;
  }

  /** Begin a step. Source of the sticky rule: openai/retro-contest, StochasticFrameSkip. */
  choose(pad: number): void {
    const sticks = this.held !== null && this.random.random() <= this.rule.sticky;
    const first = sticks ? this.held! : pad;
    this.held = sticks && this.rule.frameSkip === 1 ? first : pad;
    this.queue = Array.from({ length: this.rule.frameSkip }, (_, frame) => (frame ? pad : first));
  }

  /** Play one frame of the step. Returns whether the step is over. */
  frame(): boolean {
    const pad = this.queue.shift();
    if (pad === undefined) return true;
    this.pads.push(pad);
    if (this.queue.length) {
      this.engine.frame(pad);
      const { lives, level_end_bonus } = this.engine.see();
      if (lives >= 3 && !level_end_bonus) return false;
      this.queue = [];
    }
    this.engine.step(pad); // plays no frame if the episode is over
    this.end();
    return true;
  }

  /** Begin a step and play all of its frames. */
  step(pad: number): void {
    this.choose(pad);
    while (!this.frame());
  }

  private end(): void {
    const { total, over } = this.engine.result();
    this.steps++;
    this.reward = total - this.total;
    this.total = total;
    this.terminated = over;
    this.truncated = this.rule.steps > 0 && this.steps >= this.rule.steps;
  }

  /** Whether the hero reached the act's end. */
  get finished(): boolean {
    return this.terminated && this.engine.see().level_end_bonus === 1;
  }

  /** The way to the act's end that is done, from 0 to 1. */
  get progress(): number {
    const { progress, length } = this.engine.see();
    return length > 0 ? progress / length : 0;
  }
}
