/** NumPy's SeedSequence and PCG64, so that a seed means the same here and in Python. */

const A = { init: 0x43b0d7e5, multiply: 0x931e8875 };
const B = { init: 0x8b51f9dd, multiply: 0x58f38ded };
const MIX = { left: 0xca01f9dd, right: 0x4973f715 };
const POOL = 4;
const MULTIPLIER = (0x2360ed051fc65da4n << 64n) | 0x4385df649fccf645n;
const WIDE = (1n << 128n) - 1n;
const WORD = (1n << 64n) - 1n;

function hasher({ init, multiply }: { init: number; multiply: number }): (value: number) => number {
  let constant = init;
  return (value) => {
    value = (value ^ constant) >>> 0;
    constant = Math.imul(constant, multiply) >>> 0;
    value = Math.imul(value, constant) >>> 0;
    return (value ^ (value >>> 16)) >>> 0;
  };
}

function mix(x: number, y: number): number {
  const result = (Math.imul(MIX.left, x) - Math.imul(MIX.right, y)) >>> 0;
  return (result ^ (result >>> 16)) >>> 0;
}

/** `np.random.SeedSequence(seeds).generate_state(words)`; seeds below 2**53. */
export function seedState(seeds: number[], words: number): Uint32Array {
  const entropy = seeds.flatMap((seed) =>
    seed < 2 ** 32 ? [seed] : [seed >>> 0, Math.floor(seed / 2 ** 32)],
  );
  const hash = hasher(A);
  const pool = Array.from({ length: POOL }, (_, i) => hash(entropy[i] ?? 0));
  for (let from = 0; from < POOL; from++)
    for (let to = 0; to < POOL; to++) if (from !== to) pool[to] = mix(pool[to], hash(pool[from]));
  for (const more of entropy.slice(POOL))
    for (let to = 0; to < POOL; to++) pool[to] = mix(pool[to], hash(more));
  const out = hasher(B);
  return Uint32Array.from({ length: words }, (_, i) => out(pool[i % POOL]));
}

/** `np.random.Generator(np.random.PCG64(seeds))`. */
export class Random {
  private state: bigint;
  private readonly increment: bigint;

  constructor(...seeds: number[]) {
    const words = seedState(seeds, 8);
    const [a, b, c, d] = [0, 2, 4, 6].map((i) => BigInt(words[i]) | (BigInt(words[i + 1]) << 32n));
    this.increment = ((((c << 64n) | d) << 1n) | 1n) & WIDE;
    this.state = (this.increment + ((a << 64n) | b)) & WIDE;
    this.advance();
  }

  private advance(): void {
    this.state = (this.state * MULTIPLIER + this.increment) & WIDE;
  }

  private next(): bigint {
    this.advance();
    const value = (this.state >> 64n) ^ (this.state & WORD);
    const turn = this.state >> 122n;
    return ((value >> turn) | (value << (-turn & 63n))) & WORD;
  }

  /** Uniform in [0, 1). */
  random(): number {
    return Number(this.next() >> 11n) / 2 ** 53;
  }

  /** A whole number from 0 to below `end`, without NumPy's own way of drawing it. */
  below(end: number): number {
    return Math.floor(this.random() * end);
  }
}
