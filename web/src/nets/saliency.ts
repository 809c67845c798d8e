/** What a net's choice depends on: the score of its best action while parts of the image are grey. */

import type { Net } from "./net";

export const CELLS = 12;

/** A value from 0 to 1 for each of CELLS by CELLS parts of an image [C,H,W]. */
export function occluded(net: Net, image: Uint8Array): Float32Array {
  const [channels, height, width] = net.facts.image;
  const before = net.run(image).scores;
  const changes = new Float32Array(CELLS * CELLS);
  const [tall, wide] = [height / CELLS, width / CELLS];
  for (let row = 0; row < CELLS; row++) {
    const rows = new Uint8Array(CELLS * image.length);
    for (let column = 0; column < CELLS; column++) {
      const one = rows.subarray(column * image.length, (column + 1) * image.length);
      one.set(image);
      for (let channel = 0; channel < channels; channel++)
        for (let y = Math.floor(row * tall); y < Math.floor((row + 1) * tall); y++) {
          const at = (channel * height + y) * width;
          one.fill(128, at + Math.floor(column * wide), at + Math.floor((column + 1) * wide));
        }
    }
    const scores = net.run(rows).scores;
    for (let i = 0; i < scores.length; i++) {
      const cell = row * CELLS + Math.floor(i / before.length);
      changes[cell] += Math.abs(scores[i] - before[i % before.length]);
    }
  }
  const most = Math.max(...changes) || 1;
  return changes.map((change) => change / most);
}
