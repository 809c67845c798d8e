/** The system's Chromium, headless, on a page that `vite preview` serves. */

import { existsSync } from "node:fs";
import { chromium, type Browser, type Page } from "playwright-core";
import { preview, type PreviewServer } from "vite";

/** Where it is; undefined if it is missing: tests in a browser are then skipped. */
export const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";

export const launched = () => chromium.launch({ executablePath: CHROMIUM, args: FLAGS.split(" ") });

export interface Site {
  address: string;
  /** A page in a window of its own. Errors of the page are added to `errors`. */
  open(hash?: string, options?: Parameters<Browser["newPage"]>[0]): Promise<{ page: Page; errors: string[] }>;
  close(): Promise<void>;
}

/** Serve the built page. Needs `npm run build` first. */
export async function site(): Promise<Site> {
  const server: PreviewServer = await preview({ preview: { port: 0, host: "127.0.0.1" }, logLevel: "error" });
  const address = server.resolvedUrls!.local[0];
  const browser = await launched();
  return {
    address,
    async open(hash = "", options = {}) {
      const page = await browser.newPage({ viewport: { width: 1400, height: 900 }, ...options });
      const errors: string[] = [];
      page.on("pageerror", (error) => errors.push(error.message));
      page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
      page.on("request", (request) => {
        if (!/^(blob|data):/.test(request.url()) && !request.url().startsWith(address)) errors.push(`asked for ${request.url()}`);
      });
      await page.goto(address + hash);
      await page.waitForSelector(".stage canvas");
      return { page, errors };
    },
    async close() {
      await browser.close();
      await server.close();
    },
  };
}
