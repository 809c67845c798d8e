/** Runs one net beside the page, so that thinking never holds up a picture. */

import kernelsUrl from "../../kernels/kernels.wasm?url";
import { compile, fetched } from "../engine/engine";
import { Net } from "./net";
import { occluded } from "./saliency";

export type Question =
  | { kind: "load"; id: number; file: Uint8Array }
  | { kind: "think"; id: number; image: Uint8Array; session: number; begins: boolean }
  | { kind: "saliency"; id: number; image: Uint8Array }
  | { kind: "forget"; id: number; session: number };

let net: Net | null = null;
const states = new Map<number, Float32Array | null>();

async function answer(question: Question): Promise<unknown> {
  if (question.kind === "load") {
    net = new Net(question.file, await compile(await fetched(kernelsUrl)));
    return net.facts;
  }
  if (question.kind === "forget") return states.delete(question.session);
  if (!net) throw new Error("No net is loaded.");
  if (question.kind === "saliency") return occluded(net, question.image);
  const { scores, value, state } = net.run(
    question.image,
    question.begins ? null : (states.get(question.session) ?? null),
  );
  states.set(question.session, state);
  return { scores: scores.slice(), value: value ? value[0] : null };
}

self.onmessage = async ({ data }: MessageEvent<Question>) => {
  try {
    self.postMessage({ id: data.id, answer: await answer(data) });
  } catch (error) {
    self.postMessage({ id: data.id, error: (error as Error).message });
  }
};
