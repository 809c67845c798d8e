/** A net from a file that `retro-agents export` wrote, ready to compute. */

import { Kernels, settle, size } from "./kernels";
import { readOnnx, type Model, type Tensor } from "./onnx";
import { OPS } from "./ops";

/** What a file says of its agent. */
export interface Facts {
  agent: string;
  actions: string[];
  /** Channels, height and width of the images. */
  image: [number, number, number];
  channels: number;
  frameSkip: number;
  /** How actions are chosen: best, draw, draw:T or epsilon:E. */
  play: string;
  /** Whether scores are logits; otherwise they are expected returns. */
  logits: boolean;
  /** Whether it also says which return it expects. */
  value: boolean;
  recurrent: boolean;
}

export interface Answer {
  scores: Float32Array;
  value: Float32Array | null;
  state: Float32Array | null;
}

const MAKE = "export it anew with `retro-agents export RUN --onnx FILE`";

function factsOf({ metadata, inputs, outputs }: Model): Facts {
  const missing = ["agent", "actions", "image", "frame_skip", "play"].find(
    (key) => !(key in metadata),
  );
  if (missing) throw new Error(`This net does not say its ${missing}: ${MAKE}.`);
  if (metadata.family !== "retro")
    throw new Error(
      `This net plays ${metadata.family}, not this game: drop one that was trained on BrambleDash.`,
    );
  return {
    agent: metadata.agent,
    actions: JSON.parse(metadata.actions),
    image: JSON.parse(metadata.image),
    channels: Number(metadata.channels),
    frameSkip: Number(metadata.frame_skip),
    play: metadata.play,
    logits: outputs.includes("logits"),
    value: outputs.includes("value"),
    recurrent: inputs.includes("state"),
  };
}

/** The error for a net with a part that the page lacks. error: says what the net has. */
const flawed = (error: unknown) =>
  new Error(
    `This net cannot be computed on the page (${(error as Error).message}): drop another net.`,
  );

export class Net {
  readonly facts: Facts;
  private readonly model: Model;
  private readonly kernels: Kernels;
  private readonly mark: number;

  /** Throws a sentence for the page if the file is damaged, foreign, or has an unknown part. */
  constructor(file: Uint8Array, kernels: WebAssembly.Module) {
    try {
      this.model = readOnnx(file);
    } catch (error) {
      if (error instanceof RangeError) throw new Error(`This is no whole .onnx file: ${MAKE}.`);
      throw flawed(error);
    }
    this.facts = factsOf(this.model);
    const unknown = this.model.nodes.find(({ op }) => !(op in OPS));
    if (unknown) throw flawed(new Error(`it has a part of the kind ${unknown.op}`));
    this.kernels = new Kernels(kernels);
    for (const weights of this.model.weights.values())
      if (weights.data instanceof Float32Array) settle(weights, this.kernels);
    this.mark = this.kernels.mark();
  }

  /** images: uint8 [N,C,H,W] in one array. state: a recurrent net's; null: an episode begins.
   * Throws a sentence for the page if it has a part of an unknown kind. */
  run(images: Uint8Array, state: Float32Array | null = null): Answer {
    const rows = images.length / size(this.facts.image);
    const values = new Map<string, Tensor>(this.model.weights);
    values.set("images", { dims: [rows, ...this.facts.image], data: new Float32Array(images) });
    try {
      if (this.facts.recurrent) {
        const width = this.stateSize();
        values.set("state", { dims: [rows, width], data: state ?? new Float32Array(rows * width) });
      }
      for (const node of this.model.nodes) {
        const inputs = node.inputs.map((name) => values.get(name)!);
        const outputs = OPS[node.op]!(inputs, node, this.kernels);
        outputs.forEach((tensor, i) => values.set(node.outputs[i], tensor));
      }
    } catch (error) {
      throw flawed(error);
    } finally {
      this.kernels.free(this.mark);
    }
    const of = (name: string) => (values.get(name)?.data as Float32Array | undefined) ?? null;
    return { scores: of("logits") ?? of("values")!, value: of("value"), state: of("new_state") };
  }

  /** Numbers of a recurrent net's state: two for each unit of an LSTM. */
  private stateSize(): number {
    const core = this.model.nodes.find(({ op }) => op === "GRU" || op === "LSTM")!;
    return core.numbers.hidden_size * (core.op === "LSTM" ? 2 : 1);
  }
}
