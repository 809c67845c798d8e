/** How the studio's pages ask again and again, and how times are written. */

import { afterEach, expect, test, vi } from "vitest";
import { Pulse } from "../src/studio/view";
import { clock } from "../src/views/dom";

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a view that was left and seen again during a beat beats as often as before", async () => {
  vi.useFakeTimers();
  vi.stubGlobal("document", { hidden: false });
  vi.stubGlobal("window", globalThis);
  let beats = 0;
  const pulse = new Pulse(async () => {
    beats++;
    await new Promise((end) => setTimeout(end, 10));
  }, 90);
  pulse.start();
  pulse.stop();
  pulse.start();
  await vi.advanceTimersByTimeAsync(20);
  beats = 0;
  await vi.advanceTimersByTimeAsync(1000);
  pulse.stop();
  expect(beats).toBe(10);
});

test("a time rounds to the next minute whole", () => {
  expect([0, 59, 3596, 3599, 7201].map(clock)).toEqual([
    "0:00.0",
    "0:01.0",
    "0:59.9",
    "1:00.0",
    "2:00.0",
  ]);
});
