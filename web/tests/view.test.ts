/** How the studio's pages ask again and again. */

import { afterEach, expect, test, vi } from "vitest";
import { Pulse } from "../src/studio/view";

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
