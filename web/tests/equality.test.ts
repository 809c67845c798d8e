import { expect, test } from "vitest";
import { Pack } from "../src/engine/pack";
import { agent, engine, PACK } from "./files";
import { play } from "./play";
import reference from "./reference.json";

test("an act plays in Node as in Python", () => {
  const { act, seed, ...expected } = reference[2];
  expect(play(engine(), agent("ppo2"), new Pack(PACK).names.indexOf(act), seed)).toEqual(expected);
});
