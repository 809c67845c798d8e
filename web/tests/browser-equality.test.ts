import { expect, test } from "vitest";
import { createServer } from "vite";
import { CHROMIUM, launched } from "./browser";
import reference from "./reference.json";

test.skipIf(!CHROMIUM)("20 acts play in Chromium as in Python", { timeout: 120_000 }, async () => {
  const server = await createServer({
    server: { port: 0, host: "127.0.0.1", hmr: false },
    logLevel: "error",
  });
  await server.listen();
  const browser = await launched();
  const page = await browser.newPage();
  await page.goto(`${server.resolvedUrls!.local[0]}tests/blank.html`);
  const rows = JSON.stringify(reference.map(({ act, seed }) => ({ act, seed })));
  const played = await page.evaluate(
    `import("/tests/in-browser.ts").then(({ playAll }) => playAll(${rows}))`,
  );
  expect(played).toEqual(reference);
  await browser.close();
  await server.close();
});
