/** The places of a sequence where its replays fail, each with variants that are tried there, as
 * jerk/slots.py: drawn by Thompson sampling, and judged by whether the replay got past. */

import { JUMP, RIGHT } from "../game/rules";
import { draw, type Draws } from "./explorer";

const BEFORE = 24;
const BEYOND = 14;
const SHORTEST = 4;
const PRIOR: [number, number] = [1, 0.3];
const PRIOR_NEW: [number, number] = [0.7, 1.3];
/** Maximum number of variants of a slot. */
const MOST = 40;
/** Fraction of a run after which no new variants are made. */
const LAST_NEW = 0.85;

export interface Variant {
  /** Step of the sequence -> the action that replaces its own. */
  changes: Map<number, number>;
  passes: number;
  failures: number;
}

export interface Slot {
  first: number;
  last: number;
  variants: Variant[];
}

const variant = (changes = new Map<number, number>()): Variant => ({
  changes,
  passes: 0,
  failures: 0,
});
const holds = ({ first, last }: Slot, step: number) => first <= step && step <= last + BEYOND;
const largest = (values: number[]) => values.indexOf(Math.max(...values));

/** The variant that a replay plays in each slot, which may be new. done: share of the run. */
export function choose(slots: Slot[], actions: Uint8Array, draws: Draws, done: number): number[] {
  return slots.map((slot) => {
    const drawn = slot.variants.map(({ passes, failures }) =>
      draws.beta(PRIOR[0] + passes, PRIOR[1] + failures),
    );
    const best = largest(drawn);
    if (!(done < LAST_NEW && drawn.length < MOST && draws.beta(...PRIOR_NEW) > drawn[best]))
      return best;
    slot.variants.push(variant(edit(actions, slot, draws)));
    return drawn.length;
  });
}

/** The variant of each slot that is most likely to pass. */
export function likeliest(slots: Slot[]): number[] {
  const rate = ({ passes, failures }: Variant) =>
    (PRIOR[0] + passes) / (PRIOR[0] + PRIOR[1] + passes + failures);
  return slots.map(({ variants }) => largest(variants.map(rate)));
}

/** A copy of the sequence with these variants. */
export function applied(actions: Uint8Array, slots: Slot[], chosen: number[]): Uint8Array {
  const changed = actions.slice();
  slots.forEach((slot, i) =>
    slot.variants[chosen[i]].changes.forEach((action, step) => (changed[step] = action)),
  );
  return changed;
}

/** One or two changes of jumps: moved, held longer or shorter, removed, or added. */
function edit(actions: Uint8Array, slot: Slot, draws: Draws): Map<number, number> {
  const changed = actions.slice();
  const times = 1 + Number(draws.random() < 0.35);
  for (let time = 0; time < times; time++) {
    const begins = jumpsIn(changed, slot);
    const what = draws.random();
    if (!begins.length || what >= 0.85) {
      const at = draw([slot.first, Math.max(slot.first, slot.last - 1)], draws);
      changed.fill(JUMP, at, at + draw([2, 4], draws));
      continue;
    }
    let start = begins[Math.trunc(draws.random() * begins.length)];
    let held = 0;
    while (start + held < changed.length && changed[start + held] === JUMP) held++;
    changed.fill(RIGHT, start, start + held);
    if (what < 0.5) {
      const by = draw([1, 4], draws);
      start += by * (draws.random() < 0.5 ? 1 : -1);
      start = Math.min(Math.max(0, start), changed.length - held);
    } else if (what < 0.7) {
      const by = draw([1, 2], draws);
      held = Math.max(1, held + by * (draws.random() < 0.5 ? 1 : -1));
    } else held = 0;
    changed.fill(JUMP, start, start + held);
  }
  const changes = new Map<number, number>();
  changed.forEach((action, step) => action !== actions[step] && changes.set(step, action));
  return changes;
}

/** Steps of the slot, except its last one, at which a jump begins. */
function jumpsIn(actions: Uint8Array, { first, last }: Slot): number[] {
  const found: number[] = [];
  for (let step = first; step < last; step++)
    if (actions[step] === JUMP && (step === 0 || actions[step - 1] !== JUMP)) found.push(step);
  return found;
}

/** Count the results of the variants in a replay that followed its plan up to step `ended`. */
export function judge(slots: Slot[], chosen: number[], ended: number): void {
  chosen.forEach((which, i) => {
    const slot = slots[i];
    if (!slot) return;
    if (ended > slot.last + BEYOND) slot.variants[which].passes++;
    else if (ended >= slot.first) slot.variants[which].failures++;
  });
}

/** The slot for a failure at step `ended`; null if it is in one, or too close to one. */
export function opened(slots: Slot[], ended: number, length: number, ends: number[]): Slot | null {
  if (ended >= length || slots.some((slot) => holds(slot, ended))) return null;
  let [first, last] = [Math.max(0, ended - BEFORE), Math.min(length - 1, ended)];
  for (const slot of slots) {
    if (first <= slot.last && slot.last < last) first = slot.last + 1;
    if (first < slot.first && slot.first <= last) last = slot.first - 1;
  }
  if (last - first < SHORTEST) return null;
  const made = { first, last, variants: [variant()] };
  for (const end of ends) judge([made], [0], end);
  return made;
}
