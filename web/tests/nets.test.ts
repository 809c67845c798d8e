import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Net } from "../src/nets/net";
import { choose } from "../src/players/policy";
import { kernels, testNet, text } from "./files";

const NETS = ["gru", "lstm", "quantiles", "impala", "group-norm", "mobilenet", "xresnet", "trpo"];
const TOLERANCE = 1e-5;
const images = Uint8Array.from({ length: 3 * 4 * 36 * 36 }, (_, i) =>
  Number(((BigInt(i) * 2654435761n) >> 7n) & 255n),
);

test.each(NETS)("the net %s computes what ONNX Runtime does", (name) => {
  const expected: Record<string, number[]> = JSON.parse(text(`web/tests/nets/${name}.json`));
  const state = expected.new_state ? new Float32Array(expected.new_state.length).fill(0.25) : null;
  const found = testNet(name).run(images, state);
  const pairs: [Float32Array | null, number[] | undefined][] = [
    [found.scores, expected.logits ?? expected.values],
    [found.value, expected.value],
    [found.state, expected.new_state],
  ];
  for (const [ours, theirs] of pairs) {
    expect(ours?.length).toBe(theirs?.length);
    theirs?.forEach((value, i) => expect(Math.abs(ours![i] - value)).toBeLessThan(TOLERANCE));
  }
});

const whole = new Uint8Array(readFileSync(new URL("./nets/trpo.onnx", import.meta.url)));
test.each([
  ["cut off", whole.subarray(0, 9000)],
  ["of another kind", new TextEncoder().encode("no net at all")],
  ["empty", new Uint8Array()],
])("a file that is %s is refused in one sentence", (_, file) => {
  expect(() => new Net(file, kernels)).toThrow(
    /^This is no whole \.onnx file: export it anew with /,
  );
});

test("a net with a part of an unknown kind is refused in one sentence", () => {
  const net = testNet("trpo");
  net["model"].nodes.find(({ op }) => op === "Conv")!.lists.dilations = [2, 2];
  expect(() => net.run(images)).toThrow(
    /^This net cannot be computed on the page \(it has windows of another kind\): drop /,
  );
});

test("a policy draws by its probabilities, and values choose the best", () => {
  const logits = [Math.log(0.25), Math.log(0.75)];
  expect(
    [0, 0.24, 0.26, 0.99].map((uniform) => choose({ play: "draw", logits: true }, logits, uniform)),
  ).toEqual([0, 0, 1, 1]);
  for (const play of ["best", "draw"])
    expect(choose({ play, logits: false }, [0, 2, 1], 0.99)).toBe(1);
  expect(choose({ play: "draw:100", logits: false }, [0, 2, 1], 0.99)).toBe(2);
});
