/** Matrix products in WebAssembly (web/kernels), and the memory in which they work. */

import type { Tensor } from "./onnx";

interface Exports {
  memory: WebAssembly.Memory;
  product(c: number, a: number, b: number, m: number, n: number, k: number): void;
  product_of_rows(c: number, a: number, b: number, m: number, n: number, k: number): void;
  // prettier-ignore
  patches(to: number, x: number, channels: number, h: number, w: number, kh: number, kw: number,
          stride: number, top: number, left: number, oh: number, ow: number): void;
}

const PAGE = 65536;
/** Below are the stack and nothing else. */
const FIRST = 16384;

export class Kernels {
  readonly calls: Exports;
  private top = FIRST;

  constructor(module: WebAssembly.Module) {
    this.calls = new WebAssembly.Instance(module, {}).exports as unknown as Exports;
  }

  /** Room for floats; views from before may be detached. Returns its address. */
  allocate(length: number): number {
    const at = this.top;
    this.top += (length * 4 + 31) & ~15;
    const short = this.top - this.calls.memory.buffer.byteLength;
    if (short > 0) this.calls.memory.grow(Math.ceil(short / PAGE) + 64);
    return at;
  }

  /** What is allocated after this can be freed together. */
  mark(): number {
    return this.top;
  }

  free(mark: number): void {
    this.top = mark;
  }

  floats(at: number, length: number): Float32Array {
    return new Float32Array(this.calls.memory.buffer, at, length);
  }

  put(values: ArrayLike<number>): number {
    const at = this.allocate(values.length);
    this.floats(at, values.length).set(values);
    return at;
  }
}

export const size = (dims: number[]) => dims.reduce((a, b) => a * b, 1);

/** A tensor's address in the kernels' memory; weights are there for good. */
const homes = new WeakMap<Tensor, number>();
export function placed(tensor: Tensor, kernels: Kernels): number {
  return homes.get(tensor) ?? kernels.put(tensor.data);
}
export function settle(tensor: Tensor, kernels: Kernels): void {
  homes.set(tensor, kernels.put(tensor.data));
}
