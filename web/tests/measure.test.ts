/** Measures the built page in headless Chromium: MINUTES=10 npm run measure
 *
 * Writes measured.json: times to the first picture and to the agent's first step, pictures a second
 * with everything shown, what is transferred (gzip), and how the memory grows in MINUTES. */

import { execSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import os from "node:os";
import { gzipSync } from "node:zlib";
import { test } from "vitest";
import { site, type Site } from "./browser";

const SECONDS = 20;
const VISITS = 7;
const minutes = Number(process.env.MINUTES);
const here = new URL("../", import.meta.url);
const assets = new URL("dist/assets/", here);

/** Bytes of the built files whose names begin so, as a server sends them with gzip. */
function transfer(...names: string[]): number {
  const files = readdirSync(assets).filter((file) => names.some((name) => file.startsWith(name)));
  return files.reduce((sum, file) => sum + gzipSync(readFileSync(new URL(file, assets))).length, 0);
}

/** Notes when the canvas is first drawn, and when the agent's first step is shown. */
const STAMPS = `
  const put = CanvasRenderingContext2D.prototype.putImageData;
  CanvasRenderingContext2D.prototype.putImageData = function (...all) {
    window.firstPicture ??= performance.now();
    return put.apply(this, all);
  };
  const look = () => {
    const text = document.querySelector(".bars output")?.textContent;
    if (text) window.firstStep = performance.now();
    else setTimeout(look, 5);
  };
  look();`;

/** Milliseconds of each visit from its start to the first picture, and to the agent's first step,
 * in order: the first visit is also the first of a browser that has just been started. */
async function times(web: Site, width: number) {
  const found: { picture: number[]; agent: number[] } = { picture: [], agent: [] };
  const see = async (page: import("playwright-core").Page) => {
    await page.waitForFunction("window.firstStep");
    found.picture.push(await page.evaluate("Math.round(firstPicture)"));
    found.agent.push(await page.evaluate("Math.round(firstStep)"));
  };
  const options = { viewport: { width, height: 850 } };
  for (let visit = 0; visit < VISITS; visit++)
    await web.visit("#/watch?act=RustCavern.Act2", see, options, STAMPS);
  return found;
}

/** Pictures in some seconds with everything shown, and those later than two screen frames. */
async function pictures(web: Site, width: number) {
  let found = {};
  const all = `localStorage.setItem("bramble.panel", JSON.stringify({ sees: true, thinks: true,
    buttons: true, value: true, scores: true, looks: true, map: true }))`;
  const see = async (page: import("playwright-core").Page) => {
    await page.waitForFunction("document.querySelector('.bars output')?.textContent");
    await page.waitForTimeout(2000);
    found = await page.evaluate(`new Promise((resolve) => {
      const begin = performance.now();
      let [shown, late, before] = [0, 0, begin];
      const next = (now) => {
        shown++;
        if (now - before > 34) late++;
        before = now;
        if (now - begin < ${SECONDS * 1000}) requestAnimationFrame(next);
        else resolve({ seconds: ${SECONDS}, shown, late });
      };
      requestAnimationFrame(next);
    })`);
  };
  await web.visit("#/watch?act=RustCavern.Act2", see, { viewport: { width, height: 850 } }, all);
  return found;
}

/** The page's memory in MiB after each minute, once what is not needed was collected. */
async function growth(web: Site) {
  const found: number[] = [];
  await web.visit("#/watch?act=RustCavern.Act2", async (page) => {
    const client = await page.context().newCDPSession(page);
    for (let minute = 0; minute <= minutes; minute++) {
      await client.send("HeapProfiler.collectGarbage");
      const { usedSize } = await client.send("Runtime.getHeapUsage");
      found.push(Math.round((10 * usedSize) / 2 ** 20) / 10);
      if (minute < minutes) await page.waitForTimeout(60_000);
    }
  });
  return found;
}

test.skipIf(!minutes)("the page is measured", { timeout: 1_800_000 }, async () => {
  const web = await site();
  const result = {
    command: `MINUTES=${minutes} npm run measure`,
    commit: execSync("git describe --always --dirty=+").toString().trim(),
    machine: { cores: os.cpus().length, load: os.loadavg()[0].toFixed(1), node: process.version },
    transfer_gzip_bytes: {
      first_picture: transfer("index-", "bramble-", "game-"),
      with_ppo2: transfer("index-", "bramble-", "game-", "kernels-", "brain", "ppo2-"),
    },
    milliseconds: { 1400: await times(web, 1400), 390: await times(web, 390) },
    pictures: { 1400: await pictures(web, 1400), 390: await pictures(web, 390) },
    heap_mib_each_minute: await growth(web),
  };
  writeFileSync(new URL("measured.json", here), `${JSON.stringify(result, null, 1)}\n`);
  await web.close();
  console.log(JSON.stringify(result, null, 1));
});
