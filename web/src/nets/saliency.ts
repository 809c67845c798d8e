/** What a net's choice depends on: how its scores change while parts of the image are grey. */

import type { Net } from "./net";

export const CELLS = 12;

/** Parts at a time; in between, the worker answers what is more urgent. */
const PORTION = 4;

/** A value from 0 to 1 for each of CELLS by CELLS parts of an image [C,H,W]. */
export async function occluded(net: Net, image: Uint8Array): Promise<Float32Array> {
  const before = net.run(image).scores.slice();
  const changes = new Float32Array(CELLS * CELLS);
  for (let first = 0; first < changes.length; first += PORTION) {
    const rows = new Uint8Array(PORTION * image.length);
    for (let i = 0; i < PORTION; i++) {
      const one = rows.subarray(i * image.length, (i + 1) * image.length);
      one.set(image);
      cover(one, net.facts.image, first + i);
    }
    net.run(rows).scores.forEach((score, i) => {
      const cell = first + Math.floor(i / before.length);
      changes[cell] += Math.abs(score - before[i % before.length]);
    });
    await new Promise((resolve) => setTimeout(resolve));
  }
  const most = Math.max(...changes) || 1;
  return changes.map((change) => change / most);
}

/** Make a part of all of an image's channels grey. */
function cover(
  image: Uint8Array,
  [channels, height, width]: [number, number, number],
  cell: number,
) {
  const [row, column] = [Math.floor(cell / CELLS), cell % CELLS];
  const [tall, wide] = [height / CELLS, width / CELLS];
  for (let channel = 0; channel < channels; channel++)
    for (let y = Math.floor(row * tall); y < Math.floor((row + 1) * tall); y++) {
      const at = (channel * height + y) * width;
      image.fill(128, at + Math.floor(column * wide), at + Math.floor((column + 1) * wide));
    }
}
