/** ONNX's GRU and LSTM, forwards, with default activations: the recurrent cores of agents. */

import type { Node, Tensor } from "./onnx";

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));

/** x [T,N,F]; w [1,G*H,F]; r [1,G*H,H]; biases [1,2*G*H]; states [1,N,H] -> y [T,1,N,H], last. */
export function recurrent(inputs: Tensor[], node: Node): Tensor[] {
  const [x, w, r, bias, , first, cellFirst] = inputs as [
    Tensor,
    Tensor,
    Tensor,
    Tensor,
    Tensor?,
    Tensor?,
    Tensor?,
  ];
  const [steps, rows, features] = x.dims as [number, number, number];
  const hidden = r.dims[2];
  const gates = w.dims[1] / hidden;
  const y = new Float32Array(steps * rows * hidden);
  const state = first ? Float32Array.from(first.data) : new Float32Array(rows * hidden);
  const cell = cellFirst ? Float32Array.from(cellFirst.data) : new Float32Array(rows * hidden);
  const [own, before] = [new Float64Array(gates * hidden), new Float64Array(gates * hidden)];
  const apply = gates === 3 ? gru : lstm;
  for (let step = 0; step < steps; step++)
    for (let row = 0; row < rows; row++) {
      const h = state.subarray(row * hidden, (row + 1) * hidden);
      const at = (step * rows + row) * features;
      for (let gate = 0; gate < gates * hidden; gate++) {
        let sum = bias.data[gate];
        for (let i = 0; i < features; i++) sum += w.data[gate * features + i] * x.data[at + i];
        own[gate] = sum;
        sum = bias.data[gates * hidden + gate];
        for (let i = 0; i < hidden; i++) sum += r.data[gate * hidden + i] * h[i];
        before[gate] = sum;
      }
      apply(
        own,
        before,
        h,
        cell.subarray(row * hidden, (row + 1) * hidden),
        !!node.numbers.linear_before_reset,
      );
      y.set(h, (step * rows + row) * hidden);
    }
  const last = { dims: [1, rows, hidden], data: state };
  const whole = { dims: [steps, 1, rows, hidden], data: y };
  return gates === 3 ? [whole, last] : [whole, last, { dims: last.dims, data: cell }];
}

/** Gates: update, reset, new. */
function gru(
  own: Float64Array,
  before: Float64Array,
  h: Float32Array,
  _: Float32Array,
  linear: boolean,
): void {
  if (!linear) throw new Error("it has a GRU of another kind");
  const n = h.length;
  for (let i = 0; i < n; i++) {
    const update = sigmoid(own[i] + before[i]);
    const reset = sigmoid(own[n + i] + before[n + i]);
    const fresh = Math.tanh(own[2 * n + i] + reset * before[2 * n + i]);
    h[i] = (1 - update) * fresh + update * h[i];
  }
}

/** Gates: input, output, forget, cell. */
function lstm(own: Float64Array, before: Float64Array, h: Float32Array, cell: Float32Array): void {
  const n = h.length;
  const sum = (gate: number, i: number) => own[gate * n + i] + before[gate * n + i];
  for (let i = 0; i < n; i++) {
    cell[i] = sigmoid(sum(2, i)) * cell[i] + sigmoid(sum(0, i)) * Math.tanh(sum(3, i));
    h[i] = sigmoid(sum(1, i)) * Math.tanh(cell[i]);
  }
}
