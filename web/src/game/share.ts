/** An episode in a link: its pads as runs, deflated, in letters that links may hold. */

import { PADS } from "../engine/engine";

/** Frames of the longest episode in a link: an hour. */
const MOST = 60 * 60 * 60;

/** most: bytes of the result. Throws a RangeError if there are more. */
async function through(
  bytes: Uint8Array,
  stream: GenericTransformStream,
  most = Infinity,
): Promise<Uint8Array> {
  let length = 0;
  const bound = new TransformStream<Uint8Array, Uint8Array>({
    transform(part, to) {
      length += part.length;
      if (length > most) throw new RangeError("too long");
      to.enqueue(part);
    },
  });
  const all = new Blob([bytes as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(stream as ReadableWritablePair)
    .pipeThrough(bound);
  return new Uint8Array(await new Response(all as ReadableStream).arrayBuffer());
}

export const deflate = (bytes: Uint8Array) => through(bytes, new CompressionStream("deflate-raw"));
export const inflate = (bytes: Uint8Array, most?: number) =>
  through(bytes, new DecompressionStream("deflate-raw"), most);

/** Two bytes a run: pad and length, 1 to 255. Throws a sentence for the page if it is too long. */
export async function pack(pads: ArrayLike<number>): Promise<string> {
  if (pads.length > MOST)
    throw new Error(
      "This episode is longer than an hour, the most that a link can hold: choose a shorter one.",
    );
  const runs: number[] = [];
  for (let i = 0; i < pads.length;) {
    let length = 1;
    while (length < 255 && i + length < pads.length && pads[i + length] === pads[i]) length++;
    runs.push(pads[i], length);
    i += length;
  }
  const bytes = await deflate(Uint8Array.from(runs));
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Throws a sentence for the page if the link is damaged. */
export async function unpack(text: string): Promise<number[]> {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (letter) =>
      letter.charCodeAt(0),
    );
    const runs = await inflate(bytes, 2 * MOST);
    const pads: number[] = [];
    for (let i = 0; i + 1 < runs.length && pads.length <= MOST; i += 2)
      for (let j = 0; j < runs[i + 1]; j++) pads.push(runs[i]);
    if (!pads.length || pads.length > MOST || pads.some((pad) => pad >= PADS)) throw new Error();
    return pads;
  } catch {
    throw new Error(
      "The episode in this link is damaged: ask for the link again, or watch the act below.",
    );
  }
}
