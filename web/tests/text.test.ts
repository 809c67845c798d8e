import { expect, test } from "vitest";
import { amount, elapsed, levelOf, short } from "../src/studio/text";

const ticks = (from: number, step: number) =>
  Array.from({ length: 5 }, (_, i) => short(from + i * step, step));

test("ticks of an axis differ", () => {
  for (const [from, step] of [
    [1.9452, 0.0002],
    [9980, 5],
    [1_000_000, 2000],
    [0, 500_000],
    [-0.2, 0.1],
  ])
    expect(new Set(ticks(from, step)).size).toBe(5);
  expect(ticks(0, 500_000)).toEqual(["0", "500 k", "1 M", "1.5 M", "2 M"]);
  expect(short(1_250_000)).toBe("1.25 M");
});

test("a number has the unit that its rounded value has", () => {
  expect([999_936, 999_400, 9_999.6, -999_999].map((value) => short(value))).toEqual([
    ...["1 M", "999 k", "10 k", "-1 M"],
  ]);
});

test("small returns have decimals", () => {
  expect([9.43, 1200.6, -0.5, 0, -312.4, null].map(amount)).toEqual([
    ...["9.43", "1,201", "-0.5", "0", "-312", "–"],
  ]);
});

test("times are said to their second unit", () => {
  expect([0, 40, 60, 80, 3600, 5400, 86_400, 300_000].map(elapsed)).toEqual([
    ...["0 s", "40 s", "1 min", "1 min 20 s", "1 h", "1 h 30 min", "1 d", "3 d 11 h"],
  ]);
});

test("levels are named without their game, unless a number is all that is left", () => {
  const levels = ["coinrun:5", "procgen:coinrun", "BrambleDash-Genesis-v0:BrambleWood.Act3"];
  expect(levels.map(levelOf)).toEqual(["coinrun:5", "coinrun", "BrambleWood.Act3"]);
});
