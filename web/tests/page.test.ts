import { afterAll, beforeAll, expect, test } from "vitest";
import { CHROMIUM, site, type Site } from "./browser";

let web: Site;
beforeAll(async () => {
  if (CHROMIUM) web = await site();
});
afterAll(() => web?.close());
const inBrowser = test.skipIf(!CHROMIUM);

inBrowser("an agent plays as soon as the page is open", async () => {
  const { page, errors } = await web.open();
  await page.waitForFunction(() => /[1-9]\d* points/.test(document.querySelector(".line")!.textContent!));
  expect(await page.locator(".bars .bar").count()).toBe(7);
  expect(await page.locator(".pictures canvas").count()).toBe(4);
  expect(await page.locator(".card").count()).toBe(58);
  expect(errors).toEqual([]);
  await page.close();
});
