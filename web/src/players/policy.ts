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

/** The action of these scores. uniform: in [0, 1), for a policy that draws. */
export function choose(facts: Pick<Facts, "play">, scores: ArrayLike<number>, uniform: number): number {
  const rows = Array.from(scores);
  if (facts.play === "best") return rows.indexOf(Math.max(...rows));
  let below = 0;
  const found = probabilities(rows).findIndex((chance) => (below += chance) > uniform);
  return found < 0 ? rows.length - 1 : found;
}
