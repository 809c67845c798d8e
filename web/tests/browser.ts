/** The system's Chromium, headless, on a page that `vite preview` serves. */

import { existsSync } from "node:fs";
import { chromium, type Browser, type Page } from "playwright-core";
import { preview, type PreviewServer } from "vite";

/** Where it is; undefined if it is missing: tests in a browser are then skipped. */
export const CHROMIUM = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
].find(existsSync);
const FLAGS =
  "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

export const launched = () => chromium.launch({ executablePath: CHROMIUM, args: FLAGS.split(" ") });

/** Whether the page keeps a key from the browser, which would scroll or press what has the focus. */
export const takes = (page: Page, code: string, repeat = false) =>
  page.evaluate(
    (key) =>
      !document.activeElement!.dispatchEvent(
        new KeyboardEvent("keydown", { ...key, bubbles: true, cancelable: true }),
      ),
    { code, repeat },
  );

export interface Site {
  /** Visit a page in a window of its own, and close it; `errors` are the page's. before: a script. */
  visit(
    hash: string,
    see: (page: Page, errors: string[]) => Promise<void>,
    options?: Options,
    before?: string,
  ): Promise<void>;
  close(): Promise<void>;
}
type Options = Parameters<Browser["newPage"]>[0];

/** Serve the built page. Needs `npm run build` first. */
export async function site(): Promise<Site> {
  const server: PreviewServer = await preview({
    preview: { port: 0, host: "127.0.0.1" },
    logLevel: "error",
  });
  const address = server.resolvedUrls!.local[0];
  const browser = await launched();
  return {
    async visit(hash, see, options = {}, before = "") {
      const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, ...options });
      try {
        const errors: string[] = [];
        page.on("pageerror", (error) => errors.push(error.message));
        page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
        page.on("request", (request) => {
          if (!/^(blob|data):/.test(request.url()) && !request.url().startsWith(address))
            errors.push(`asked for ${request.url()}`);
        });
        if (before) await page.addInitScript(before);
        await page.goto(address + hash);
        await page.waitForSelector(".stage canvas, .notice:not([hidden])");
        await see(page, errors);
      } finally {
        await page.close();
      }
    },
    async close() {
      await browser.close();
      await server.close();
    },
  };
}
