import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CHROMIUM, site, takes, type Site } from "./browser";

const file = (path: string) => new URL(path, import.meta.url).pathname;
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let web: Site;
beforeAll(async () => {
  if (CHROMIUM) web = await site();
});
afterAll(() => web?.close());

/** A test on the page at an address, which must not make errors. */
function onPage(
  name: string,
  hash: string,
  check: (page: Page) => Promise<void>,
  options = {},
  before = "",
): void {
  test.skipIf(!CHROMIUM)(name, () =>
    web.visit(
      hash,
      async (page, errors) => {
        await check(page);
        expect(errors).toEqual([]);
      },
      options,
      before,
    ),
  );
}

const line = (page: Page) => page.locator(".line").first().textContent();
const banner = (page: Page, text: RegExp) =>
  page.locator(".banner", { hasText: text }).first().waitFor({ timeout: 50_000 });
const notice = (page: Page, text: RegExp) => page.locator(".notice", { hasText: text }).waitFor();
const moves = (page: Page) =>
  page.waitForFunction(() => /[1-9]\d* points/.test(document.querySelector(".line")!.textContent!));
const fast = (page: Page) => page.locator(".controls select").first().selectOption("8");

onPage("an agent plays as soon as the page is open", "", async (page) => {
  await moves(page);
  expect(await page.locator(".bars .bar").count()).toBe(7);
  expect(await page.locator(".pictures canvas").count()).toBe(4);
  expect(await page.locator(".card").count()).toBe(58);
  expect(await page.locator('.card[aria-current="true"]').count()).toBe(1);
});

onPage(
  "a key takes over, and the agent gets the game back",
  "#/watch?players=run-and-jump",
  async (page) => {
    await page.keyboard.press("ArrowRight");
    await page.locator("button", { hasText: "Hand back" }).click();
    await page.locator("button", { hasText: "Take over" }).waitFor();
  },
);

onPage(
  "the next episode begins after one that a person lost is handed back",
  "#/watch?act=SkyIsles.Act1&players=run-and-jump&seed=1",
  async (page) => {
    await page.keyboard.down("ArrowRight");
    await fast(page);
    await banner(page, /points/);
    await page.keyboard.up("ArrowRight");
    await page.locator("button", { hasText: "Hand back" }).click();
    await page.locator(".banner").waitFor({ state: "hidden" });
    // Seed 2, or a later one if the page was not looked at for a while.
    await page.locator(".line", { hasText: / seed (?!1 ).* [1-9]\d* points/ }).waitFor();
    await page.keyboard.press("p");
    const [, seed] = / seed (\d+) /.exec((await line(page))!)!;
    expect(page.url()).toContain(`seed=${seed}`);
    expect(await page.locator(".seed input").inputValue()).toBe(seed);
  },
);

for (const [player, isHidden] of [
  ["ppo2", false],
  ["rainbow", true],
] as const)
  onPage(
    `the values of ${player} are ${isHidden ? "no" : "a"} part of its mind`,
    `#/watch?players=${player}`,
    async (page) => {
      await page.locator(".bars output", { hasText: /\d/ }).first().waitFor();
      expect(await page.locator(".box.value").isHidden()).toBe(isHidden);
    },
  );

/** Holds PPO2's net back until `refuse()` is called: its fetch then fails. */
const HELD = `const real = fetch;
window.fetch = (url) =>
  url.includes("/ppo2-")
    ? new Promise((_, fail) => (window.refuse = () => fail(new TypeError("offline"))))
    : real(url);`;
onPage(
  "a key takes over while a net is fetched, and after that failed",
  "",
  async (page) => {
    await page.keyboard.down("ArrowRight");
    await moves(page);
    await page.keyboard.up("ArrowRight");
    await page.locator("button", { hasText: "Hand back" }).click();
    await page.evaluate("refuse()");
    await notice(page, /^A part of the page could not be fetched/);
    const before = await line(page);
    await page.keyboard.down("ArrowRight");
    await page.waitForFunction((text) => document.querySelector(".line")!.textContent !== text, before); // prettier-ignore
  },
  {},
  HELD,
);

onPage(
  "a player that is loading is told until a key takes over",
  "",
  async (page) => {
    await banner(page, /^PPO2 is loading/);
    await page.keyboard.press("ArrowRight");
    await page.locator(".banner").waitFor({ state: "hidden" });
    await page.getByLabel("Player").selectOption("run-and-jump");
    await moves(page);
    expect(await page.locator(".banner").isHidden()).toBe(true);
  },
  {},
  HELD,
);

onPage(
  "a net that cannot be fetched is not told after another player was chosen",
  "",
  async (page) => {
    await page.getByLabel("Player").selectOption("run-and-jump");
    await page.locator(".name", { hasText: "Run and jump" }).waitFor();
    await page.evaluate("refuse()");
    await moves(page);
    expect(await page.locator(".notice").isHidden()).toBe(true);
  },
  {},
  HELD,
);

onPage(
  "nets from files are further players, whichever other net failed",
  "",
  async (page) => {
    await page.setInputFiles(".file", file("./nets/gru.onnx"));
    await page.locator(".name", { hasText: "(gru.onnx)" }).waitFor();
    await page.evaluate("refuse()");
    await page.setInputFiles(".file", file("./nets/lstm.onnx"));
    await page.locator(".name", { hasText: "(lstm.onnx)" }).waitFor();
    const players = await page.getByLabel("Player").locator("option").allTextContents();
    expect(players.filter((name) => name.endsWith(".onnx)")).length).toBe(2);
  },
  {},
  HELD,
);

onPage(
  "keys scroll the map while it has the focus, and the agent plays on",
  "#/watch?players=run-and-jump",
  async (page) => {
    await page.locator(".track").focus();
    expect(await takes(page, "ArrowRight")).toBe(false);
    await page.locator(".track").evaluate((map) => (map.scrollLeft = 200));
    const before = await line(page);
    await page.waitForFunction((text) => document.querySelector(".line")!.textContent !== text, before); // prettier-ignore
    expect(await page.locator(".track").evaluate((map) => map.scrollLeft)).toBe(200);
    await page.locator("button", { hasText: "Take over" }).waitFor();
  },
);

onPage("a key that is held pauses once", "#/watch?players=run-and-jump", async (page) => {
  for (let repeat = 0; repeat < 4; repeat++) await page.keyboard.down("p");
  expect(await page.getByRole("button", { name: "Play on" }).count()).toBe(1);
});

onPage("the parts of a net's mind stay as its next episode begins", "", async (page) => {
  await page.locator(".bars output", { hasText: /\d/ }).first().waitFor();
  await page.locator(".box.thinks").evaluate((box) => {
    const watch = new MutationObserver((changes) => (window.name += changes.length));
    watch.observe(box, { attributeFilter: ["hidden"] });
  });
  await page.keyboard.press("r");
  await page.locator(".line", { hasText: " 0 points" }).waitFor();
  await moves(page);
  expect(await page.evaluate(() => window.name)).toBe("");
});

onPage(
  "a part that is switched while the game is paused is up to date",
  "#/watch?players=run-and-jump",
  async (page) => {
    await moves(page);
    await page.keyboard.press("p");
    await page.getByText("Shown beside the game").click();
    for (const part of ["Map", "What the net sees", "What the net sees"])
      await page.locator(".switches").getByText(part).click();
    expect(await page.locator(".track canvas").first().getAttribute("width")).not.toBeNull();
    expect(await page.locator(".box.sees").isHidden()).toBe(true); // it has no net
  },
  {},
  `localStorage.setItem("bramble.panel", '{"sees":true,"thinks":true,"map":false}')`,
);

onPage("the buttons are of the net whose mind is shown", "#/race", async (page) => {
  await page.keyboard.down("ArrowLeft"); // starts the race, once PPO2 is there
  await page.locator('.pad[aria-label*="RIGHT"]').waitFor();
});

onPage("keys scroll the page where nobody plays", "#/learn", async (page) => {
  expect(await takes(page, "ArrowDown")).toBe(false);
});

onPage("a click on a control leaves the keys to the game", "#/play", async (page) => {
  await page.locator("button", { hasText: "Again" }).click();
  expect(await takes(page, "Space")).toBe(true);
  await page.locator(".track").click();
  expect(await takes(page, "ArrowRight")).toBe(true);
  await page.getByLabel("Speed").click();
  await page.getByLabel("Speed").selectOption("2");
  expect(await takes(page, "ArrowRight")).toBe(true);
  await page.getByLabel("Speed").click();
  await page.keyboard.press("Escape");
  expect(await takes(page, "ArrowRight")).toBe(true);
  await page.getByLabel("Rules").press("ArrowLeft");
  expect(await takes(page, "ArrowRight")).toBe(false);
  for (const [name, key] of [
    ["Rules", "Escape"],
    ["Seed", "Enter"],
  ]) {
    await page.getByLabel(name).press(key);
    expect(await takes(page, "ArrowRight")).toBe(true);
  }
  for (const name of ["Again", "Pause", "Play on"]) {
    await page.getByRole("button", { name }).press("Enter");
    expect(await takes(page, "Space")).toBe(true);
  }
  await page.getByRole("link", { name: "Race" }).click();
  await page.getByRole("link", { name: "Play" }).click();
  expect(await takes(page, "Space")).toBe(true);
});

onPage(
  "a person's episode begins with a key, costs one life, and leads onward",
  "#/play?act=SkyIsles.Act1",
  async (page) => {
    const speed = page.getByLabel("Speed");
    await banner(page, /^Press a key to start/);
    await page.waitForTimeout(300);
    expect(await line(page)).toContain(" 0 points");
    await fast(page);
    await page.keyboard.down("ArrowRight");
    await banner(page, /^Lost at/);
    await page.keyboard.up("ArrowRight");
    await page.locator(".finish", { hasText: "One life counts" }).waitFor();
    const { y } = (await page.locator(".banner").boundingBox())!;
    expect(y).toBeLessThan((await page.locator(".stage").boundingBox())!.y + 40); // over no fox
    await page.keyboard.press("p");
    await page.getByRole("button", { name: "Next act" }).click();
    await page.locator(".line", { hasText: "Sky Isles 2" }).waitFor();
    await page.getByRole("button", { name: "Pause" }).waitFor();
    expect(await speed.inputValue()).toBe("8");
    await page.getByRole("link", { name: "Race" }).click();
    await page.getByLabel("Lane 1").waitFor();
    expect(await speed.inputValue()).toBe("1");
  },
);

for (const [player, act, end] of [
  ["oracle", "SpringOrchard.Act1", /^Finished in/],
  ["run-and-jump", "SkyIsles.Act1", /^Lost at/],
] as const)
  onPage(
    `the link of an episode of ${player} plays the same again`,
    `#/watch?act=${act}&players=${player}`,
    async (page) => {
      await fast(page);
      await banner(page, end);
      await page.getByRole("button", { name: "Pause" }).click(); // or the next episode begins
      const said = await page.locator(".banner").textContent();
      await page.evaluate(() =>
        Object.defineProperty(navigator, "clipboard", { value: undefined }),
      );
      await page.locator("button", { hasText: "Copy a link" }).click();
      const address = await page.locator(".finish input").inputValue();
      await page.goto("about:blank");
      await page.goto(address);
      await fast(page);
      await banner(page, end);
      expect(await page.locator(".banner").textContent()).toBe(said);
    },
  );

onPage("the table of keys is that of docs/web.md", "#/play", async (page) => {
  await page.getByText("Keys", { exact: true }).click();
  const rows = page.locator(".keys tr");
  const keys = await rows.evaluateAll((all) =>
    all.map((row) => `| ${Array.from(row.children, (one) => one.textContent).join(" | ")} |`),
  );
  expect(readFileSync(file("../../docs/web.md"), "utf8")).toContain(
    `|---|---|\n${keys.join("\n")}\n\n`,
  );
});

const copy = (page: Page) => page.locator("button", { hasText: "Copy a link" });
onPage(
  "what is offered after an episode stays while it is paused or pointed at",
  "#/watch?players=random",
  async (page) => {
    await fast(page);
    const pause = page.getByRole("button", { name: "Pause" });
    const before = await pause.boundingBox();
    await banner(page, /points/);
    expect(await pause.boundingBox()).toEqual(before);
    await pause.click();
    await page.waitForTimeout(2500);
    expect(await copy(page).isVisible()).toBe(true);
    await copy(page).hover();
    await page.keyboard.press("p");
    await page.waitForTimeout(2500);
    expect(await copy(page).isVisible()).toBe(true);
    await page.mouse.move(0, 0);
    await copy(page).waitFor({ state: "hidden" });
  },
);

onPage("a link that is selected stays until it is left", "#/watch?players=random", async (page) => {
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
  await fast(page);
  await copy(page).click({ timeout: 50_000 });
  await page.waitForTimeout(2500);
  const address = page.locator(".finish input");
  expect(await address.isVisible()).toBe(true);
  await page.mouse.move(0, 0);
  await address.blur();
  await address.waitFor({ state: "hidden" });
});

onPage(
  "a race ends with a ranking",
  "#/race?act=BrambleWood.Act3&players=oracle,random,run-and-jump",
  async (page) => {
    expect(await page.locator(".screen").count()).toBe(3);
    await fast(page);
    await page.locator(".ranking").waitFor({ timeout: 50_000 });
    expect(await page.locator(".ranking li").first().textContent()).toMatch(
      /^Oracle \d:\d\d\.\d · 9,\d+ points$/,
    );
  },
);

onPage(
  "a person plays on a phone",
  "#/play?act=TideGrotto.Act1",
  async (page) => {
    expect(await page.locator(".lede").textContent()).toMatch(/^The arrows below the game/);
    const box = (await page.locator(".key", { hasText: "→" }).boundingBox())!;
    const touch = { x: box.x + 20, y: box.y + 20, identifier: 1 };
    const client = await page.context().newCDPSession(page);
    await client.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [touch] });
    await moves(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(
      390,
    );
  },
  PHONE,
);

onPage(
  "the buttons for fingers fit the narrowest phone, apart",
  "#/play",
  async (page) => {
    const boxes = await page
      .locator(".key")
      .evaluateAll((keys) =>
        keys.map((key) => key.getBoundingClientRect()).map(({ left, right }) => [left, right]),
      );
    const edges = boxes.flat();
    expect(edges.slice(1).every((edge, i) => edge >= edges[i] + 8)).toBe(true);
    expect(edges.at(-1)).toBeLessThanOrEqual(308);
  },
  { ...PHONE, viewport: { width: 320, height: 640 } },
);

for (const [view, games] of [
  ["play", 1],
  ["race", 2],
] as const)
  onPage(
    `the games of ${view} fill a phone that is turned, and fit it`,
    `#/${view}?players=you,run-and-jump`,
    async (page) => {
      const { y, height, width } = (await page.locator(".stage").boundingBox())!;
      expect(y + height).toBeLessThanOrEqual(390);
      expect(width / games).toBeGreaterThan(390);
      const keys = async () => (await page.locator(".touch").boundingBox())!;
      expect((await keys()).y).toBeGreaterThan(300);
      expect((await keys()).y + (await keys()).height).toBeLessThanOrEqual(390);
      await page.locator(".acts").evaluate((acts) => acts.scrollIntoView());
      expect((await keys()).y).toBeLessThan(-64);
    },
    { ...PHONE, viewport: { width: 844, height: 390 } },
  );

onPage(
  "the game is in sight after an act was chosen on a phone, be it the one that plays",
  "#/watch?players=run-and-jump",
  async (page) => {
    for (const card of ['.card[aria-current="true"]', ".card >> nth=-1", ".card >> nth=-1"]) {
      await page.locator(card).click();
      await page.waitForFunction(() => {
        const { top, bottom } = document.querySelector(".stage")!.getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight;
      });
    }
  },
  PHONE,
);

/** A search that finds, in its first run, that LEFT earns 90 points, and then that RIGHT earns 50. */
const SEARCHES = `let searches = 0;
window.Worker = class {
  postMessage({ timesteps }) {
    const [action, mean] = searches++ ? [1, 50] : [0, 90];
    const best = new Uint8Array(4500).fill(action);
    const report = { steps: timesteps, episodes: [], mean, best, over: true };
    setTimeout(() => {
      this.onmessage({ data: { ...report, over: false } });
      const line = document.querySelector(".learn .line");
      (window.busy ??= []).push(line.ariaBusy);
      this.onmessage({ data: report });
      window.busy.push(line.ariaBusy);
    });
  }
  terminate() {}
};`;
onPage(
  "a second search that found less leaves JERK the better run",
  "#/learn",
  async (page) => {
    const pressed = (name: string) => page.locator(`.pad[aria-label="Pressed: ${name}"]`).waitFor();
    const learn = page.locator("button", { hasText: "Learn this act" });
    expect((await learn.boundingBox())!.y).toBeLessThan(390); // above the game
    await learn.click();
    await pressed("LEFT");
    expect(await page.getByRole("button", { name: "Stop" }).isDisabled()).toBe(true);
    await learn.click();
    await page.locator(".learn .line", { hasText: "best run 50 points" }).waitFor();
    await page.locator(".controls button", { hasText: "Again" }).click();
    await pressed("LEFT");
    // A screen reader is told of the end alone.
    expect(await page.evaluate("busy")).toEqual(["true", null, "true", null]);
  },
  PHONE,
  SEARCHES,
);

onPage(
  "the best run on an act is told again as one comes back to it",
  "#/learn",
  async (page) => {
    const said = (text: string) => page.locator(".learn .line", { hasText: text }).waitFor();
    await page.locator("button", { hasText: "Learn this act" }).click();
    await said("best run 90 points");
    await page.locator(".card >> nth=-1").click();
    await said("nothing learned yet");
    await page.goBack();
    await said("Rust Cavern 2: best run 90 points");
  },
  {},
  SEARCHES,
);

/** Players who cannot be chosen. */
const lacking = (page: Page) =>
  page.getByLabel("Player").locator("option:disabled").allTextContents();
onPage("JERK learns an act, and then plays it", "#/learn?act=RustCavern.Act2", async (page) => {
  await page.locator(".learn select").selectOption("50000");
  await page.locator("button", { hasText: "Learn this act" }).click();
  expect(await page.getByRole("button", { name: "Stop" }).isEnabled()).toBe(true);
  expect(await page.locator(".ends").allTextContents()).toEqual(["10,000 points", "050,000 steps"]);
  await page
    .locator(".learn .line", { hasText: /: 50,000 steps .* best run \d,\d{3} points/ })
    .waitFor({ timeout: 50_000 });
  await page.locator(".name", { hasText: "JERK" }).waitFor();
  await page.getByRole("link", { name: "Watch" }).click();
  expect(await lacking(page)).toEqual([]);
});

onPage(
  "acts of another seed are played",
  "#/watch?act=1001/GaleCliffs.Act2&players=run-and-jump",
  async (page) => {
    await page.waitForFunction(() =>
      /Gale Cliffs 2 · new · .* [1-9]\d* points/.test(
        document.querySelector(".line")!.textContent!,
      ),
    );
    expect(await lacking(page)).toEqual([
      ...["JERK (Learn this act first)", "Oracle (not on new acts)"],
    ]);
  },
);

/** Answers a seed's pack unpacked once it is asked for a second time, and the first time not at all. */
const LATE = `const real = fetch;
let asked = 0;
window.fetch = async (url) => {
  if (!url.includes("/1002-")) return real(url);
  if (!asked++) throw new TypeError("offline");
  const { body } = await real(url);
  return new Response(body.pipeThrough(new DecompressionStream("gzip")));
};`;
onPage(
  "acts of another seed that cannot be fetched are told, and come once at the next try",
  "#/watch?act=1002/GaleCliffs.Act2&players=run-and-jump",
  async (page) => {
    await notice(page, /^A part of the page could not be fetched/);
    await moves(page);
    const seed = page.locator("button", { hasText: "Seed 1002" });
    await seed.evaluate((one: HTMLButtonElement) => {
      one.click();
      one.click();
    });
    await page.locator('.card[data-act="1002/GaleCliffs.Act2"]').first().waitFor();
    expect(await page.locator("h2", { hasText: "seed 1002" }).count()).toBe(1);
    expect(await page.locator(".notice").isHidden()).toBe(true);
  },
  {},
  LATE,
);

onPage(
  "the acts of the seed that was asked for last are in sight",
  "#/watch?players=run-and-jump",
  async (page) => {
    await page.keyboard.press("p");
    for (const seed of ["1001", "1002", "1001"]) {
      await page.getByRole("button", { name: `Seed ${seed}` }).click();
      await page.waitForFunction((asked) => {
        const all = [...document.querySelectorAll("h2")];
        const at = all.find((one) => one.textContent!.endsWith(`seed ${asked}`));
        const { top, bottom } = at?.getBoundingClientRect() ?? { top: -1, bottom: 0 };
        return top >= 0 && bottom <= innerHeight;
      }, seed);
    }
  },
);

/** Holds a seed's pack back until it is released. */
const SLOW = `const real = fetch;
window.fetch = async (url) => {
  if (url.includes("/1003-")) await new Promise((free) => (window.release = free));
  return real(url);
};`;
onPage(
  "acts that are still fetched are told, and keys wait for them",
  "#/watch?act=1003/GaleCliffs.Act2&players=run-and-jump",
  async (page) => {
    await notice(page, /^The acts are being fetched/);
    for (const key of ["r", "h", ".", "p", "ArrowRight"]) await page.keyboard.press(key);
    await page.evaluate("release()");
    await page.waitForFunction(() =>
      /Gale Cliffs 2 · new · .* [1-9]\d* points/.test(
        document.querySelector(".line")!.textContent!,
      ),
    );
    expect(await page.locator(".notice").isHidden()).toBe(true);
  },
  {},
  SLOW,
);

onPage("a recording is opened", "", async (page) => {
  await page.setInputFiles(".file", file("./recording.bk2"));
  await page.locator(".name", { hasText: "Recording" }).waitFor();
  expect(await line(page)).toMatch(/^Tide Grotto 1/);
  expect(await page.locator(".lede").textContent()).toMatch(/^A recording/);
  await page.getByRole("button", { name: "Play this act" }).click();
  await page.locator(".name", { hasText: "You" }).waitFor();
  expect(await line(page)).toMatch(/^Tide Grotto 1/);
});

onPage("a recording is played again, and no agent instead", "", async (page) => {
  await page.setInputFiles(".file", file("./recording.bk2"));
  const recording = page.locator(".name", { hasText: "Recording" });
  await recording.waitFor();
  await page.getByRole("button", { name: "Again" }).click();
  await recording.waitFor();
  await page.keyboard.press("r");
  await recording.waitFor();
});

onPage("an agent is watched after a race with a person", "#/race", async (page) => {
  await page.getByRole("link", { name: "Watch" }).click();
  await page.locator(".name", { hasText: "PPO2" }).waitFor();
});

onPage("a view keeps the keyboard's focus", "#/watch?players=run-and-jump", async (page) => {
  await page.getByRole("link", { name: "Race" }).press("Enter");
  await page.locator(".screen").nth(1).waitFor();
  expect(await page.evaluate(() => document.activeElement!.textContent)).toBe("Race");
});

onPage("what is typed outlives the end of an episode", "#/watch?players=random", async (page) => {
  await fast(page);
  const seed = page.locator(".seed input");
  await seed.focus();
  await seed.pressSequentially("7");
  const typed = await seed.inputValue();
  await banner(page, /points/);
  await page.locator(".banner", { hasText: /points/ }).waitFor({ state: "hidden" });
  expect(await seed.inputValue()).toBe(typed);
  expect(await seed.evaluate((field) => field === document.activeElement)).toBe(true);
});

onPage("a net from a file is opened and plays", "", async (page) => {
  await page.setInputFiles(".file", file("./nets/gru.onnx"));
  await page.locator(".name", { hasText: "ppo2 (gru.onnx)" }).waitFor();
  await page.waitForFunction(
    () =>
      document.querySelectorAll(".bars output").length === 7 &&
      /[1-9]\d* points/.test(document.querySelector(".line")!.textContent!),
  );
  expect(await page.locator(".notice").isHidden()).toBe(true);
});

for (const [what, name, said] of [
  ["a damaged net", "damaged.onnx", /^This is no whole \.onnx file: /],
  ["a damaged recording", "damaged.bk2", /^This is no whole recording: /],
  ["a file of another kind", "picture.png", /^The page reads nets/],
] as const)
  onPage(
    `${what} is refused, and the game goes on`,
    "#/watch?players=run-and-jump",
    async (page) => {
      await page.setInputFiles(".file", {
        name,
        mimeType: "application/octet-stream",
        buffer: Buffer.from("damaged"),
      });
      await notice(page, said);
      await moves(page);
      await page.getByRole("button", { name: "Again" }).click();
      expect(await page.locator(".notice").isHidden()).toBe(true);
    },
  );

for (const [hash, said] of [
  ["#/watch?players=random&act=No.Act1", /^This link names no act that is known here/],
  ["#/watch?players=random&replay=damaged", /^The episode in this link is damaged/],
  ["#/watch?players=nobody", /^The player in this link is not here/],
  ["#/watch?act=No.Act1&players=nobody", /^This link names no act .* below\. The player in this/],
] as const)
  onPage(`the broken link ${hash} is told`, hash, (page) => notice(page, said));

onPage("a player who is not here can be exchanged", "#/watch?players=nobody", async (page) => {
  const player = page.getByLabel("Player");
  expect(await player.inputValue()).toBe("nobody");
  await player.selectOption("ppo2");
  await page.locator(".name", { hasText: "PPO2" }).waitFor();
  await moves(page);
});

test
  .skipIf(!CHROMIUM)
  .each([
    "WebAssembly.compile = () => Promise.reject(new WebAssembly.CompileError())",
    "WebAssembly.Instance = class { constructor() { throw new RangeError(); } }",
    "delete window.DecompressionStream",
  ])("a browser that is too old for the game is told which can: %s", (before) =>
  web.visit("", (page) => notice(page, /^This browser is too old for the game: use /), {}, before),
);

for (const [what, file, player] of [
  ["a net's kernels", "kernels", "ppo2"],
  ["the oracle's actions", "_virtual_proofs", "oracle"],
])
  test.skipIf(!CHROMIUM)(`${what} that cannot be fetched are told`, () =>
    web.visit("#/watch?players=run-and-jump", async (page) => {
      await page.route(`**/${file}-*`, (route) => route.abort());
      await page.getByLabel("Player").selectOption(player);
      await notice(page, /^A part of the page could not be fetched/);
    }),
  );

for (const [view, colorScheme] of [
  ["watch", "light"],
  ["watch", "dark"],
  ["play", "dark"],
  ["race", "light"],
  ["learn", "dark"],
] as const)
  onPage(
    `axe finds nothing serious in ${view}, ${colorScheme}`,
    `#/${view}?players=run-and-jump`,
    async (page) => {
      await page.keyboard.press("p"); // pauses, and leaves the time to axe
      await page.evaluate(axe);
      const { violations } = (await page.evaluate("axe.run()")) as {
        violations: { id: string; impact: string; nodes: { html: string }[] }[];
      };
      const serious = violations.filter(
        ({ impact }) => impact === "serious" || impact === "critical",
      );
      expect(serious.map(({ id, nodes }) => `${id}: ${nodes[0].html}`)).toEqual([]);
    },
    { colorScheme },
  );
