/** What the page fetches, read from the repository. */

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { Engine, type Options } from "../src/engine/engine";
import { Net } from "../src/nets/net";

const file = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url));
const GAME = "cartridge/integration/BrambleDash-Genesis-v0";
export const PACK = new Uint8Array(gunzipSync(file(`${GAME}/game.pack`)));
const code = new WebAssembly.Module(file(`${GAME}/bramble.wasm`));
export const kernels = new WebAssembly.Module(file("web/kernels/kernels.wasm"));

export const engine = (options: Options = { pictures: true }) => new Engine(code, [PACK], options);
export const agent = (name: string) => new Net(file(`web/agents/${name}.onnx`), kernels);
export const testNet = (name: string) => new Net(file(`web/tests/nets/${name}.onnx`), kernels);
export const text = (path: string) => file(path).toString();
