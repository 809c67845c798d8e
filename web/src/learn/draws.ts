/** Random numbers of the search, all made of uniform ones, so that a seed means the same in
 * tests/web/learned.py. */

import { Random } from "../engine/random";
import type { Draws } from "./explorer";

export class SeedDraws implements Draws {
  private readonly uniforms: Random;

  constructor(seed: number) {
    this.uniforms = new Random(seed);
  }

  random(): number {
    return this.uniforms.random();
  }

  below(end: number): number {
    return Math.floor(this.random() * end);
  }

  beta(a: number, b: number): number {
    const one = this.gamma(a);
    return one / (one + this.gamma(b));
  }

  private normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.random())) * Math.cos(2 * Math.PI * this.random());
  }

  /** Source: Marsaglia and Tsang 2000, A simple method for generating gamma variables. */
  private gamma(shape: number): number {
    if (shape < 1) {
      const larger = this.gamma(shape + 1);
      return larger * (1 - this.random()) ** (1 / shape);
    }
    const d = shape - 1 / 3;
    const c = 1 / Math.sqrt(9 * d);
    for (;;) {
      const x = this.normal();
      const v = (1 + c * x) ** 3;
      if (v > 0 && Math.log(1 - this.random()) < 0.5 * x * x + d - d * v + d * Math.log(v))
        return d * v;
    }
  }
}
