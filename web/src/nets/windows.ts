/** Operators on images [N,C,H,W]: convolution, pooling, normalisation. */

import { placed, size as product, type Kernels } from "./kernels";
import type { Node, Tensor } from "./onnx";

interface Window {
  size: [number, number];
  stride: number;
  /** Rows and columns of zeros before the image. */
  before: [number, number];
  /** And behind it. */
  after: [number, number];
  /** The output's size. */
  out: [number, number];
}

function windowOf(node: Node, dims: number[], size: number[]): Window {
  const [kh, kw] = [size[0], size[1]];
  const [stride, other] = node.lists.strides?.length ? node.lists.strides : [1, 1];
  const [top = 0, left = 0, bottom = 0, right = 0] = node.lists.pads ?? [];
  if (stride !== other || (node.lists.dilations ?? []).some((one) => one !== 1))
    throw new Error("it has windows of another kind");
  const up = node.numbers.ceil_mode ? Math.ceil : Math.floor;
  const out: [number, number] = [
    up((dims[2] + top + bottom - kh) / stride) + 1,
    up((dims[3] + left + right - kw) / stride) + 1,
  ];
  return { size: [kh, kw], stride: stride, before: [top, left], after: [bottom, right], out };
}

/** Convolution as a product of the weights and the patches under the kernel. */
export function conv(inputs: Tensor[], node: Node, kernels: Kernels): Tensor[] {
  const [x, weights, bias] = inputs as [Tensor, Tensor, Tensor?];
  const [rows, channels, height, width] = x.dims as [number, number, number, number];
  const [outputs, depth] = weights.dims as [number, number];
  const { size, stride, before, out } = windowOf(node, x.dims, weights.dims.slice(2));
  const groups = node.numbers.group ?? 1;
  const [k, n, m] = [depth * size[0] * size[1], out[0] * out[1], outputs / groups];
  const [image, matrix] = [placed(x, kernels), placed(weights, kernels)];
  const [columns, made] = [kernels.allocate(k * n), kernels.allocate(rows * outputs * n)];
  for (let row = 0; row < rows; row++)
    for (let group = 0; group < groups; group++) {
      const from = image + 4 * (row * channels + group * depth) * height * width;
      kernels.calls.patches(
        columns,
        from,
        depth,
        height,
        width,
        ...size,
        stride,
        ...before,
        ...out,
      );
      const to = made + 4 * (row * outputs + group * m) * n;
      kernels.calls.product(to, matrix + 4 * group * m * k, columns, m, n, k);
    }
  const data = kernels.floats(made, rows * outputs * n).slice();
  if (bias)
    for (let i = 0; i < rows * outputs; i++) {
      const own = bias.data[i % outputs];
      for (let j = i * n; j < (i + 1) * n; j++) data[j] += own;
    }
  return [{ dims: [rows, outputs, ...out], data }];
}

/** The largest value under a window, or the mean. */
export const pool =
  (mean: boolean) =>
  ([x]: Tensor[], node: Node): Tensor[] => {
    const [rows, channels, height, width] = x.dims as [number, number, number, number];
    const { size, stride, before, after, out } = windowOf(node, x.dims, node.lists.kernel_shape);
    const data = new Float32Array(rows * channels * out[0] * out[1]);
    let to = 0;
    for (let image = 0; image < rows * channels; image++)
      for (let i = 0; i < out[0]; i++)
        for (let j = 0; j < out[1]; j++) {
          let [most, sum, count] = [-Infinity, 0, 0];
          const [top, left] = [i * stride - before[0], j * stride - before[1]];
          const tall = Math.min(size[0], height + after[0] - top);
          const wide = Math.min(size[1], width + after[1] - left);
          for (let y = Math.max(0, top); y < Math.min(height, top + size[0]); y++)
            for (let z = Math.max(0, left); z < Math.min(width, left + size[1]); z++) {
              const one = x.data[(image * height + y) * width + z];
              if (one > most) most = one;
              sum += one;
              count++;
            }
          data[to++] = mean ? sum / (node.numbers.count_include_pad ? tall * wide : count) : most;
        }
    return [{ dims: [rows, channels, ...out], data }];
  };

/** Each channel of each image, to mean 0 and variance 1, then scaled and shifted. */
export function normalise([x, scale, shift]: Tensor[], node: Node): Tensor[] {
  const channels = x.dims[1];
  const count = product(x.dims.slice(2));
  const data = new Float32Array(x.data.length);
  for (let i = 0; i < data.length; i += count) {
    let [sum, squares] = [0, 0];
    for (let j = i; j < i + count; j++) sum += x.data[j];
    const mean = sum / count;
    for (let j = i; j < i + count; j++) squares += (x.data[j] - mean) ** 2;
    const channel = (i / count) % channels;
    const factor =
      scale.data[channel] / Math.sqrt(squares / count + (node.numbers.epsilon ?? 1e-5));
    for (let j = i; j < i + count; j++) data[j] = (x.data[j] - mean) * factor + shift.data[channel];
  }
  return [{ dims: x.dims, data }];
}
