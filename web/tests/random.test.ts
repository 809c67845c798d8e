import { expect, test } from "vitest";
import { Random } from "../src/engine/random";

// np.random.default_rng(seed).random(3)
test.each([
  [[0], [0.6369616873214543, 0.2697867137638703, 0.04097352393619469]],
  [[12345], [0.22733602246716966, 0.31675833970975287, 0.7973654573327341]],
  [
    [7, 1],
    [0.7701409510034741, 0.1119272443176843, 0.18909773329712753],
  ],
])("seed %j draws what NumPy draws", (seeds, numbers) => {
  const random = new Random(...seeds);
  expect(numbers.map(() => random.random())).toEqual(numbers);
});
