/** A studio on runs that tests/studio/runs.py makes, and a browser. */

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CHROMIUM, launched } from "./browser";

const ROOT = new URL("../..", import.meta.url).pathname;
const PYTHON = `${ROOT}.venv/bin/python`;
const RUNS = CHROMIUM && existsSync(PYTHON);
let folder = "";
let studio: ChildProcess;
let browser: Browser;
let address = "";

beforeAll(async () => {
  if (!RUNS) return;
  folder = mkdtempSync(`${tmpdir()}/studio-`);
  execFileSync(PYTHON, ["-m", "tests.studio.runs", folder], { cwd: ROOT });
  const words = ["-m", "retro_agents.studio", folder, "--port", "0", "--no-browser"];
  studio = spawn(PYTHON, words, { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] });
  address = await new Promise((found) =>
    studio.stdout!.once("data", (said) => found(/http:\S+/.exec(String(said))![0])),
  );
  browser = await launched();
});
afterAll(async () => {
  await browser?.close();
  studio?.kill();
  if (folder) rmSync(folder, { recursive: true });
});

/** What a page does every few seconds, it does more often. */
const SOONER = `{
  const timer = window.setTimeout;
  window.setTimeout = (call, wait, ...more) => timer(call, wait < 2000 ? wait : wait / 5, ...more);
}`;
export const WIDE = { width: 1400, height: 900 };
export const NARROW = { width: 390, height: 844 };

/** Pictures of a page, where PICTURES names a folder for them. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!process.env.PICTURES) return;
  for (const size of [WIDE, NARROW]) {
    await page.setViewportSize(size);
    const path = `${process.env.PICTURES}/${name}-${size.width}.png`;
    await page.screenshot({ path, fullPage: true });
  }
  await page.setViewportSize(WIDE);
}

/** Let the server answer for all runs at each beat, and change what it says. */
export async function answering(
  page: Page,
  change: (runs: { id: string }[]) => object[],
): Promise<void> {
  await page.route(/api\/runs/, async (route) => {
    const found = await route.fetch({ url: route.request().url().split("?")[0] });
    const answer = await found.json();
    await route.fulfill({ json: { ...answer, rows: change(answer.rows) } });
  });
}

/** What the browser says of a request that the studio refuses. */
const REFUSED = "Failed to load resource: the server responded with a status of 400 (Bad Request)";

/** A test on a page, which must not make errors but for requests that the studio refuses, and must
 * fit a phone too. */
export function onPage(
  name: string,
  hash: string,
  check: (page: Page) => Promise<void>,
  { refused = 0 } = {},
): void {
  test.skipIf(!RUNS)(name, async () => {
    const context = await browser.newContext({ viewport: WIDE });
    await context.addInitScript(SOONER);
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await page.goto(address);
    await page.goto(`${address.split("?")[0]}${hash}`);
    try {
      await check(page);
      await picture(page, name.replace(/\W+/g, "-"));
      for (const size of [WIDE, NARROW]) {
        await page.setViewportSize(size);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        expect(wide).toBeLessThanOrEqual(size.width);
      }
      expect(errors).toEqual(new Array(refused).fill(REFUSED));
    } finally {
      await page.unrouteAll({ behavior: "ignoreErrors" });
      await context.close();
    }
  });
}
