/** The game's own code, `bramble.wasm`, as one object: plays one game, frame by frame. */

import { GAME, LINE, SEEN, SETTINGS } from "./layout";

export const WIDTH = 320;
export const HEIGHT = 224;
/** The engine's buttons; a frame's buttons are one number, its pad. B and C jump. */
export const PAD = { UP: 1, DOWN: 2, LEFT: 4, RIGHT: 8, B: 16, C: 32 } as const;
export const PADS = 64;
const POINTS = 0.25;

interface Exports {
  memory: WebAssembly.Memory;
  load(pack: number): number;
  allocate(bytes: number): number;
  settings_at(): number;
  prepare(): void;
  start(game: number): void;
  step(): void;
  see(): void;
  search(): void;
  rgb(game: number): void;
  line_at(): number;
}

export type Seen = Record<(typeof SEEN)[number], number>;

export interface Options {
  /** Whether to draw what a net sees: four grey pictures of 84 by 84 pixels. */
  pictures: boolean;
  height?: number;
  width?: number;
  depth?: number;
  colours?: number;
  /** Frames of a `step` or of an action of a `line`. */
  frameSkip?: number;
}

export const LOST = "A part of the page could not be fetched: check the connection and reload.";

/** The bytes at an address. Throws a sentence for the page if they do not come. */
export async function fetched(url: string): Promise<ArrayBuffer> {
  try {
    const answer = await fetch(url);
    if (answer.ok) return await answer.arrayBuffer();
  } catch {
    // The same sentence as for an answer of another kind.
  }
  throw new Error(LOST);
}

const OLD =
  "This browser is too old for the game: use a version of Chrome, Edge, Firefox or Safari from 2024 or later.";

/** The code, compiled. Throws a sentence for the page where the browser cannot run it. */
export async function compile(code: BufferSource): Promise<WebAssembly.Module> {
  try {
    const module = await WebAssembly.compile(code);
    new WebAssembly.Instance(module, {}); // which Chrome refused on a page until 2023
    return module;
  } catch {
    throw new Error(OLD);
  }
}

/** Throws a sentence for the page where the browser cannot unpack it. */
export async function gunzip(packed: BlobPart): Promise<Uint8Array<ArrayBuffer>> {
  if (!("DecompressionStream" in globalThis)) throw new Error(OLD);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export class Engine {
  private readonly calls: Exports;
  private readonly settings: number;
  private readonly game: number;
  private readonly line: number;
  /** Shape of an observation: channels, height, width. */
  readonly shape: [number, number, number];

  /** packs: uncompressed; the first has the art, further ones add acts. */
  constructor(module: WebAssembly.Module, packs: Uint8Array[], options: Options) {
    this.calls = new WebAssembly.Instance(module, {}).exports as unknown as Exports;
    for (const pack of packs) {
      const at = this.calls.allocate(pack.length);
      this.bytes(at, pack.length).set(pack);
      if (!this.calls.load(at))
        throw new Error("These are no acts for this engine: reload the page.");
    }
    const { height = 84, width = 84, colours = 1 } = options;
    const depth = options.pictures ? (options.depth ?? 4) : 0;
    this.shape = [depth * colours, height, width];
    this.settings = this.calls.settings_at();
    const view = this.view();
    // The sticky rule is drawn by the episode, which plays frame by frame.
    view.setFloat64(this.settings + SETTINGS.stick_probability, -1, true);
    const words = {
      games: 1,
      frame_skip: options.frameSkip ?? 1,
      to: 1,
      height,
      width,
      depth,
      colours,
    };
    for (const [name, value] of Object.entries(words))
      view.setUint32(this.settings + SETTINGS[name as keyof typeof words], value, true);
    for (let pad = 0; pad < PADS; pad++)
      view.setUint16(this.settings + SETTINGS.pads + 2 * pad, pad, true);
    this.calls.prepare();
    this.game = this.address("game");
    this.line = this.calls.line_at();
  }

  private view(): DataView {
    return new DataView(this.calls.memory.buffer);
  }

  private bytes(at: number, length: number): Uint8Array {
    return new Uint8Array(this.calls.memory.buffer, at, length);
  }

  private address(name: keyof typeof SETTINGS): number {
    return this.view().getUint32(this.settings + SETTINGS[name], true);
  }

  /** Begin an act. */
  start(act: number): void {
    this.view().setUint16(this.game + GAME.act, act, true);
    this.calls.start(0);
  }

  /** Play one frame without an observation. */
  frame(pad: number): void {
    this.play([pad]);
  }

  /** Play a line of pads, each for the engine's frame skip, up to the episode's end. Returns how
   * many were played. stuck: whether each one's first frame holds the pad before. */
  play(pads: ArrayLike<number>, stuck?: ArrayLike<number>): number {
    this.view().setUint32(this.line + LINE.count, pads.length, true);
    this.bytes(this.line + LINE.actions, pads.length).set(pads);
    if (stuck) this.bytes(this.line + LINE.stuck, pads.length).set(stuck);
    else this.bytes(this.line + LINE.stuck, pads.length).fill(0);
    this.calls.search();
    return this.view().getInt32(this.line + LINE.played, true);
  }

  /** Play the last frame of an agent's step, which ends it: its reward and observation are of all
   * frames since the step before. */
  step(pad: number): void {
    this.view().setUint8(this.game + GAME.action, pad);
    this.calls.step();
  }

  /** What `step` found: the return is in the contest's points. */
  result(): { total: number; over: boolean } {
    const view = this.view();
    return {
      total: view.getInt32(this.game + GAME.total, true) * POINTS,
      over: view.getUint8(this.game + GAME.terminated) !== 0,
    };
  }

  /** The game's numbers now. */
  see(): Seen {
    this.calls.see();
    const words = new Int32Array(this.calls.memory.buffer, this.line + LINE.seen, SEEN.length);
    return Object.fromEntries(SEEN.map((name, i) => [name, words[i]])) as Seen;
  }

  /** A copy of what a net sees: uint8 [channels, height, width]. */
  observation(): Uint8Array {
    const [channels, height, width] = this.shape;
    return this.bytes(this.address("observations"), channels * height * width).slice();
  }

  /** Draw the screen into RGBA pixels. */
  draw(pixels: Uint8ClampedArray): void {
    this.calls.rgb(0);
    const from = this.bytes(this.address("rgb"), WIDTH * HEIGHT * 3);
    for (let i = 0, j = 0; i < from.length; i += 3, j += 4) {
      pixels[j] = from[i];
      pixels[j + 1] = from[i + 1];
      pixels[j + 2] = from[i + 2];
      pixels[j + 3] = 255;
    }
  }
}
