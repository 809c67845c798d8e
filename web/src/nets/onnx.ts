/** Reads the parts of an ONNX file that nets need; the format is a tree of protocol buffers. */

export interface Tensor {
  dims: number[];
  /** Floats, or whole numbers and truths as numbers. */
  data: Float32Array | number[];
}

export interface Node {
  op: string;
  inputs: string[];
  outputs: string[];
  numbers: Record<string, number>;
  lists: Record<string, number[]>;
  tensors: Record<string, Tensor>;
}

export interface Model {
  nodes: Node[];
  weights: Map<string, Tensor>;
  inputs: string[];
  outputs: string[];
  metadata: Record<string, string>;
}

type Field = { number: number; value: number; bytes: Uint8Array };
const text = new TextDecoder();
const FLOAT = 1;
const INT64 = 7;
const TYPES: Record<number, (raw: ArrayBuffer) => Tensor["data"]> = {
  1: (raw) => new Float32Array(raw),
  6: (raw) => [...new Int32Array(raw)],
  7: (raw) => [...new BigInt64Array(raw)].map(Number),
  9: (raw) => [...new Uint8Array(raw)],
};

/** The fields of one message, in order. */
function* fields(bytes: Uint8Array): Generator<Field> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = view.getUint8(at++);
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(BigInt.asIntN(64, value));
    }
  };
  while (at < bytes.length) {
    const key = varint();
    const field: Field = { number: key >> 3, value: 0, bytes: new Uint8Array() };
    if ((key & 7) === 0) field.value = varint();
    else if ((key & 7) === 5) field.value = view.getFloat32((at += 4) - 4, true);
    else if ((key & 7) === 1) field.value = view.getFloat64((at += 8) - 8, true);
    else if ((key & 7) === 2) {
      const length = varint();
      if (length < 0 || at + length > bytes.length) throw new RangeError("cut off");
      field.bytes = bytes.subarray(at, (at += length));
    } else throw new RangeError("no such field");
    yield field;
  }
}

/** Whole numbers of a field that repeats: packed together, or one by one. */
function whole(field: Field): number[] {
  if (!field.bytes.length) return [field.value];
  const key = new Uint8Array([8]);
  const found: number[] = [];
  let start = 0;
  field.bytes.forEach((byte, i) => {
    if (byte >= 128) return;
    const one = field.bytes.subarray(start, (start = i + 1));
    for (const { value } of fields(new Uint8Array([...key, ...one]))) found.push(value);
  });
  return found;
}

function tensor(bytes: Uint8Array): { name: string; tensor: Tensor } {
  const dims: number[] = [];
  let type = FLOAT;
  let name = "";
  let data: Tensor["data"] = [];
  for (const field of fields(bytes)) {
    if (field.number === 1) dims.push(...whole(field));
    else if (field.number === 2) type = field.value;
    else if (field.number === 8) name = text.decode(field.bytes);
    else if (field.number === 9) {
      const read = TYPES[type];
      if (!read) throw new Error(`it has numbers of type ${type}`);
      data = read(field.bytes.slice().buffer);
    } else if (field.number === 4)
      data = new Float32Array(
        field.bytes.length ? field.bytes.slice().buffer : [...data, field.value],
      );
    else if (field.number === INT64 || field.number === 5) data = [...data, ...whole(field)];
  }
  return { name, tensor: { dims, data } };
}

function attribute(node: Node, bytes: Uint8Array): void {
  let name = "";
  const list: number[] = [];
  for (const field of fields(bytes)) {
    if (field.number === 1) name = text.decode(field.bytes);
    else if (field.number === 2 || field.number === 3) node.numbers[name] = field.value;
    else if (field.number === 5) node.tensors[name] = tensor(field.bytes).tensor;
    else if (field.number === 7)
      list.push(
        ...(field.bytes.length ? new Float32Array(field.bytes.slice().buffer) : [field.value]),
      );
    else if (field.number === 8) list.push(...whole(field));
  }
  node.lists[name] = list;
}

function node(bytes: Uint8Array): Node {
  const made: Node = {
    op: "",
    inputs: [],
    outputs: [],
    numbers: {},
    lists: {},
    tensors: {},
  };
  for (const field of fields(bytes)) {
    if (field.number === 1) made.inputs.push(text.decode(field.bytes));
    else if (field.number === 2) made.outputs.push(text.decode(field.bytes));
    else if (field.number === 4) made.op = text.decode(field.bytes);
    else if (field.number === 5) attribute(made, field.bytes);
  }
  return made;
}

function pair(bytes: Uint8Array): [string, string] {
  const found = [...fields(bytes)].map((field) => text.decode(field.bytes));
  return [found[0] ?? "", found[1] ?? ""];
}

function graph(model: Model, bytes: Uint8Array): void {
  for (const field of fields(bytes)) {
    if (field.number === 1) model.nodes.push(node(field.bytes));
    else if (field.number === 5) {
      const found = tensor(field.bytes);
      model.weights.set(found.name, found.tensor);
    } else if (field.number === 11 || field.number === 12) {
      const ends = field.number === 11 ? model.inputs : model.outputs;
      ends.push(pair(field.bytes)[0]);
    }
  }
}

/** The model in a file. Throws an error if it is none. */
export function readOnnx(file: Uint8Array): Model {
  const model: Model = { nodes: [], weights: new Map(), inputs: [], outputs: [], metadata: {} };
  const whole = new Uint8Array(file.buffer, file.byteOffset, file.byteLength); // no Buffer of Node
  for (const field of fields(whole)) {
    if (field.number === 7) graph(model, field.bytes);
    else if (field.number === 14)
      Object.assign(model.metadata, Object.fromEntries([pair(field.bytes)]));
  }
  if (!model.nodes.length || !model.outputs.length) throw new RangeError("no net");
  model.inputs = model.inputs.filter((name) => !model.weights.has(name));
  return model;
}
