/** ONNX's operators, as far as this project's nets consist of them. */

import { placed, size, type Kernels } from "./kernels";
import type { Node, Tensor } from "./onnx";
import { recurrent } from "./recurrent";
import { conv, normalise, pool } from "./windows";

export type Op = (inputs: Tensor[], node: Node, kernels: Kernels) => Tensor[];

const whole = (tensor: Tensor | undefined) => (tensor ? [...tensor.data] : []);
const axisOf = (axis: number, rank: number) => (axis < 0 ? axis + rank : axis);

function strides(dims: number[]): number[] {
  const steps = dims.map(() => 1);
  for (let i = dims.length - 2; i >= 0; i--) steps[i] = steps[i + 1] * dims[i + 1];
  return steps;
}

/** Reads a tensor at places of an output: steps has an input's step along each of its axes. */
function gathered(from: Tensor, dims: number[], steps: number[], start = 0): Tensor {
  const data =
    from.data instanceof Float32Array
      ? new Float32Array(size(dims))
      : new Array<number>(size(dims));
  const index = dims.map(() => 0);
  let place = start;
  for (let i = 0; i < data.length; i++) {
    data[i] = from.data[place];
    for (let axis = dims.length - 1; axis >= 0; axis--) {
      place += steps[axis];
      if (++index[axis] < dims[axis]) break;
      place -= steps[axis] * dims[axis];
      index[axis] = 0;
    }
  }
  return { dims, data };
}

function broadcast(one: Tensor, dims: number[]): Tensor {
  if (one.dims.length === dims.length && one.dims.every((dim, i) => dim === dims[i])) return one;
  const missing = dims.length - one.dims.length;
  const own = strides(one.dims);
  return gathered(
    one,
    dims,
    dims.map((_, i) => (i < missing || one.dims[i - missing] === 1 ? 0 : own[i - missing])),
  );
}

function common(...shapes: number[][]): number[] {
  const rank = Math.max(...shapes.map((dims) => dims.length));
  return Array.from({ length: rank }, (_, i) =>
    shapes.reduce((most, dims) => {
      const dim = dims[i - rank + dims.length] ?? 1;
      return dim === 1 ? most : dim;
    }, 1),
  );
}

const binary =
  (compute: (a: number, b: number) => number): Op =>
  ([a, b]) => {
    const dims = common(a.dims, b.dims);
    const [x, y] = [broadcast(a, dims).data, broadcast(b, dims).data];
    const isFloat = x instanceof Float32Array;
    const data = isFloat ? new Float32Array(x.length) : new Array<number>(x.length);
    for (let i = 0; i < x.length; i++) data[i] = compute(x[i], y[i]);
    return [{ dims, data }];
  };

const unary =
  (compute: (a: number) => number): Op =>
  ([a]) => {
    const data = new Float32Array(a.data.length); // from() would be ten times as slow
    for (let i = 0; i < data.length; i++) data[i] = compute(a.data[i]);
    return [{ dims: a.dims, data }];
  };

/** Sums over some axes. mean: divided by how many there are. */
const reduced =
  (mean: boolean): Op =>
  ([a, given], node) => {
    const rank = a.dims.length;
    const axes = (given ? whole(given) : (node.lists.axes ?? [])).map((axis) => axisOf(axis, rank));
    const over = axes.length ? axes : a.dims.map((_, i) => i);
    const rest = a.dims.map((_, i) => i).filter((i) => !over.includes(i));
    const moved = transposed(a, [...rest, ...over]);
    const count = size(over.map((i) => a.dims[i]));
    const data = Float32Array.from({ length: moved.data.length / count }, (_, i) => {
      let sum = 0;
      for (let j = 0; j < count; j++) sum += moved.data[i * count + j];
      return mean ? sum / count : sum;
    });
    const holds = node.numbers.keepdims ?? 1;
    const dims = holds
      ? a.dims.map((dim, i) => (over.includes(i) ? 1 : dim))
      : rest.map((i) => a.dims[i]);
    return [{ dims, data }];
  };

function transposed(a: Tensor, order: number[]): Tensor {
  const steps = strides(a.dims);
  return gathered(
    a,
    order.map((i) => a.dims[i]),
    order.map((i) => steps[i]),
  );
}

/** [m,k] times [k,n], or of rows [n,k]. */
function product(a: Tensor, b: Tensor, kernels: Kernels, ofRows: boolean): Tensor {
  const k = a.dims.at(-1)!;
  const [m, n] = [a.data.length / k, b.data.length / k];
  const at = kernels.allocate(m * n);
  const [x, y] = [placed(a, kernels), placed(b, kernels)];
  (ofRows ? kernels.calls.product_of_rows : kernels.calls.product)(at, x, y, m, n, k);
  return { dims: [...a.dims.slice(0, -1), n], data: kernels.floats(at, m * n).slice() };
}

const gemm: Op = ([a, b, bias], node, kernels) => {
  const x = node.numbers.transA ? transposed(a, [1, 0]) : a;
  const made = product(x, b, kernels, !!node.numbers.transB);
  const [alpha, beta] = [node.numbers.alpha ?? 1, node.numbers.beta ?? 1];
  if (alpha !== 1) made.data = Float32Array.from(made.data, (one) => one * alpha);
  if (!bias) return [made];
  return binary((y, z) => y + beta * z)([made, bias], node, kernels);
};

const softmax: Op = ([a], node) => {
  const count = a.dims[axisOf(node.numbers.axis ?? -1, a.dims.length)];
  if (axisOf(node.numbers.axis ?? -1, a.dims.length) !== a.dims.length - 1)
    throw new Error("it has a softmax over another axis than the last");
  const data = new Float32Array(a.data.length);
  for (let i = 0; i < data.length; i += count) {
    const row = Array.from({ length: count }, (_, j) => a.data[i + j]);
    const most = Math.max(...row);
    const powers = row.map((one) => Math.exp(one - most));
    const sum = powers.reduce((x, y) => x + y);
    powers.forEach((one, j) => (data[i + j] = one / sum));
  }
  return [{ dims: a.dims, data }];
};

const reshape: Op = ([a, to]) => {
  const dims = whole(to).map((dim, i) => (dim === 0 ? a.dims[i] : dim));
  const known = dims.filter((dim) => dim !== -1);
  return [
    { dims: dims.map((dim) => (dim === -1 ? a.data.length / size(known) : dim)), data: a.data },
  ];
};

const slice: Op = ([a, starts, ends, axes, steps]) => {
  const dims = [...a.dims];
  const own = strides(dims);
  const over = axes ? whole(axes).map((axis) => axisOf(axis, dims.length)) : dims.map((_, i) => i);
  let start = 0;
  over.forEach((axis, i) => {
    const step = steps ? steps.data[i] : 1;
    if (step < 1) throw new Error("it has a slice in steps backwards");
    const [low, high] = [starts, ends].map((one) => {
      const at = one.data[i];
      return Math.max(0, Math.min(a.dims[axis], at < 0 ? at + a.dims[axis] : at));
    });
    start += low * strides(a.dims)[axis];
    dims[axis] = Math.max(0, Math.ceil((high - low) / step));
    own[axis] = own[axis] * step;
  });
  return [gathered(a, dims, own, start)];
};

const concat: Op = (all, node) => {
  const axis = axisOf(node.numbers.axis ?? 0, all[0].dims.length);
  const dims = all[0].dims.map((dim, i) =>
    i === axis ? all.reduce((sum, one) => sum + one.dims[i], 0) : dim,
  );
  const isFloat = all[0].data instanceof Float32Array;
  const data = isFloat ? new Float32Array(size(dims)) : new Array<number>(size(dims));
  const outer = size(dims.slice(0, axis));
  let at = 0;
  for (let i = 0; i < outer; i++)
    for (const one of all) {
      const inner = one.data.length / outer;
      for (let j = 0; j < inner; j++) data[at++] = one.data[i * inner + j];
    }
  return [{ dims, data }];
};

const split: Op = ([a, sizes], node, kernels) => {
  const axis = axisOf(node.numbers.axis ?? 0, a.dims.length);
  const count = node.outputs.length;
  const each = sizes ? whole(sizes) : new Array<number>(count).fill(a.dims[axis] / count);
  const numbers = (value: number): Tensor => ({ dims: [1], data: [value] });
  let start = 0;
  return each.map((length) => {
    const [from, to] = [start, (start += length)];
    return slice([a, numbers(from), numbers(to), numbers(axis)], node, kernels)[0];
  });
};

const gather: Op = ([a, indices], node) => {
  const axis = axisOf(node.numbers.axis ?? 0, a.dims.length);
  const [before, after] = [a.dims.slice(0, axis), a.dims.slice(axis + 1)];
  const inner = size(after);
  const dims = [...before, ...indices.dims, ...after];
  const isFloat = a.data instanceof Float32Array;
  const data = isFloat ? new Float32Array(size(dims)) : new Array<number>(size(dims));
  let at = 0;
  for (let i = 0; i < size(before); i++)
    for (const index of indices.data)
      for (let j = 0; j < inner; j++)
        data[at++] = a.data[(i * a.dims[axis] + axisOf(index, a.dims[axis])) * inner + j];
  return [{ dims, data }];
};

const squeeze: Op = ([a, axes], node) => {
  const over = (axes ? whole(axes) : (node.lists.axes ?? [])).map((axis) =>
    axisOf(axis, a.dims.length),
  );
  const dims = a.dims.filter((dim, i) => (over.length ? !over.includes(i) : dim !== 1));
  return [{ dims, data: a.data }];
};

const unsqueeze: Op = ([a, axes], node) => {
  const given = axes ? whole(axes) : (node.lists.axes ?? []);
  const rank = a.dims.length + given.length;
  const over = given.map((axis) => axisOf(axis, rank));
  const rest = [...a.dims];
  return [
    {
      dims: Array.from({ length: rank }, (_, i) => (over.includes(i) ? 1 : rest.shift()!)),
      data: a.data,
    },
  ];
};

const where: Op = ([choice, a, b]) => {
  const dims = common(choice.dims, a.dims, b.dims);
  const [c, x, y] = [choice, a, b].map((one) => broadcast(one, dims).data);
  return [{ dims, data: Float32Array.from(c, (yes, i) => (yes ? x[i] : y[i])) }];
};

const cast: Op = ([a], node) => {
  const toFloat = node.numbers.to === 1 && !(a.data instanceof Float32Array);
  return [toFloat ? { dims: a.dims, data: new Float32Array(a.data) } : a];
};

export const OPS: Record<string, Op> = {
  Add: binary((a, b) => a + b),
  AveragePool: pool(true),
  Cast: cast,
  Concat: concat,
  Constant: (_, node) => [node.tensors.value],
  Conv: conv,
  Div: binary((a, b) => a / b),
  Equal: binary((a, b) => Number(a === b)),
  Exp: unary(Math.exp),
  Expand: ([a, to]) => [broadcast(a, common(a.dims, whole(to)))],
  Flatten: ([a]) => [{ dims: [a.dims[0], size(a.dims.slice(1))], data: a.data }],
  GRU: recurrent,
  Gather: gather,
  Gemm: gemm,
  Identity: ([a]) => [a],
  InstanceNormalization: normalise,
  LSTM: recurrent,
  MatMul: ([a, b], _, kernels) => {
    if (b.dims.length > 2) throw new Error("it has a product of stacked matrices");
    return [product(a, b, kernels, false)];
  },
  MaxPool: pool(false),
  Mul: binary((a, b) => a * b),
  ReduceMean: reduced(true),
  ReduceSum: reduced(false),
  Relu: unary((a) => (a > 0 ? a : 0)),
  Reshape: reshape,
  Shape: ([a]) => [{ dims: [a.dims.length], data: a.dims }],
  Sigmoid: unary((a) => 1 / (1 + Math.exp(-a))),
  Slice: slice,
  Softmax: softmax,
  Split: split,
  Sqrt: unary(Math.sqrt),
  Squeeze: squeeze,
  Sub: binary((a, b) => a - b),
  Tanh: unary(Math.tanh),
  Transpose: ([a], node) => [transposed(a, node.lists.perm ?? a.dims.map((_, i) => i).reverse())],
  Unsqueeze: unsqueeze,
  Where: where,
};
