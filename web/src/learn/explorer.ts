/** JERK's rhythm explorer, as jerk/explorer.py: runs right, jumps in a rhythm, plays scripts when
 * it is stuck. */

import scripts from "virtual:scripts";
import { ACTIONS, JUMP, RIGHT } from "../game/rules";

/** Where the search's random numbers come from. */
export interface Draws {
  random(): number;
  /** A whole number from 0 to below `end`. */
  below(end: number): number;
  beta(a: number, b: number): number;
}

type Range = [number, number];

export interface ScriptPart {
  press?: string | Record<string, number>;
  steps?: Range;
  later?: Range;
  maybe?: number;
  repeat?: Range;
  parts?: ScriptPart[];
}

export interface Script {
  name: string;
  chance: Range;
  parts: ScriptPart[];
}

const PERIODS: Range = [10, 22];
const HOLDS: Range = [2, 5];
/** A smaller absolute reward means standing still; after so many such steps, scripts start. */
const STILL = { reward: 2, steps: 6 };
/** After so many steps without a new furthest point it has been stuck for long. */
const STUCK_STEPS = 40;

/** A random whole number; both ends are included. */
export function draw([low, high]: Range, draws: Draws): number {
  return low + Math.trunc(draws.random() * (high - low + 1));
}

/** A random index, drawn with these weights. */
function drawWeighted(weights: number[], draws: Draws): number {
  let sum = 0;
  const ends = weights.map((weight) => (sum += weight));
  const drawn = draws.random() * sum;
  const found = ends.findIndex((end) => end > drawn);
  return found < 0 ? ends.length - 1 : found;
}

function playParts(parts: ScriptPart[], draws: Draws, late: number): number[] {
  const actions: number[] = [];
  for (const part of parts) {
    if ((part.maybe ?? 1) < 1 && draws.random() >= part.maybe!) continue;
    const times = draw(part.repeat ?? [1, 1], draws);
    for (let time = 0; time < times; time++) {
      if (part.parts) {
        actions.push(...playParts(part.parts, draws, late));
        continue;
      }
      const odds = typeof part.press === "object" ? part.press : { [part.press ?? ""]: 1 };
      const names = Object.keys(odds);
      const pressed = names.length > 1 ? drawWeighted(Object.values(odds), draws) : 0;
      let [fewest, most] = part.steps ?? [1, 1];
      if (part.later) {
        fewest += Math.trunc((part.later[0] - fewest) * late);
        most += Math.trunc((part.later[1] - most) * late);
      }
      actions.push(
        ...new Array<number>(draw([fewest, most], draws)).fill(ACTIONS.indexOf(names[pressed])),
      );
    }
  }
  return actions;
}

/** Draw a script and its actions. late: 0 if just stuck, up to 1 if stuck for long. */
function playScript(draws: Draws, late: number): number[] {
  const chances = scripts.map(({ chance: [a, b] }) => a + (b - a) * late);
  return playParts(scripts[drawWeighted(chances, draws)].parts, draws, late);
}

/** The explorer in one episode. */
export class Rhythm {
  private readonly period: number;
  private readonly hold: number;
  private clock: number;
  /** The rest of the current script, last action first. */
  private queue: number[] = [];
  private still = 0;
  private total = 0;
  private furthest = 0;
  private since = 0;

  constructor(draws: Draws) {
    this.period = draw(PERIODS, draws);
    this.hold = draw(HOLDS, draws);
    this.clock = Math.trunc(draws.random() * this.period);
  }

  next(draws: Draws): number {
    if (!this.queue.length && this.still >= STILL.steps)
      this.queue = playScript(draws, Math.min(1, this.since / STUCK_STEPS)).reverse();
    if (this.queue.length) return this.queue.pop()!;
    return this.clock++ % this.period < this.hold ? JUMP : RIGHT;
  }

  /** Take in the reward of the last step, whichever player made it. */
  add(reward: number): void {
    this.still = Math.abs(reward) < STILL.reward ? this.still + 1 : 0;
    this.total += reward;
    this.since++;
    if (this.total > this.furthest + 1) [this.furthest, this.since] = [this.total, 0];
  }
}
