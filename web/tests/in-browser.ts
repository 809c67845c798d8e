/** Loaded by the browser in browser-equality.test.ts. */

import ppo2Url from "../agents/ppo2.onnx?url";
import kernelsUrl from "../kernels/kernels.wasm?url";
import { fetched } from "../src/engine/engine";
import { World } from "../src/game/world";
import { Net } from "../src/nets/net";
import { play } from "./play";

export async function playAll(rows: { act: string; seed: number }[]) {
  const world = await World.fetch();
  const net = new Net(
    new Uint8Array(await fetched(ppo2Url)),
    await WebAssembly.compile(await fetched(kernelsUrl)),
  );
  const acts = rows.map(({ act }) => world.acts.get(act)!);
  const engine = world.engine(acts[0], { pictures: true });
  return rows.map(({ act, seed }, i) => ({
    act,
    seed,
    ...play(engine, net, acts[i].number, seed),
  }));
}
