/** How a net's scores become an action. */

import type { Facts } from "../nets/net";

/** Probabilities of a policy; the best action alone where scores are expected returns. */
export function probabilities(scores: ArrayLike<number>): number[] {
  const rows = Array.from(scores);
  const most = Math.max(...rows);
  const powers = rows.map((score) => Math.exp(score - most));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}

/** The ways to play that a file may name (retro_agents/contract/policy.py). */
export const PLAYS = /^(best|draw(:\d*\.?\d+)?|epsilon:\d*\.?\d+)$/;

/** The action of these scores. uniform: in [0, 1), for a player that draws. */
export function choose(
  { play, logits }: Pick<Facts, "play" | "logits">,
  scores: ArrayLike<number>,
  uniform: number,
): number {
  const rows = Array.from(scores);
  const best = rows.indexOf(Math.max(...rows));
  const [kind, amount] = play.split(":");
  if (kind === "epsilon" && uniform < Number(amount))
    return Math.floor((uniform / Number(amount)) * rows.length);
  // Values are drawn with a noise that the file lacks, unless at a temperature.
  if (kind !== "draw" || (!logits && amount === undefined)) return best;
  let below = 0;
  const warm = rows.map((score) => score / Number(amount ?? 1));
  const found = probabilities(warm).findIndex((chance) => (below += chance) > uniform);
  return found < 0 ? rows.length - 1 : found;
}
