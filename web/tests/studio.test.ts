/** The studio's pages of runs, episodes, contests and sweeps in a browser. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page, Route } from "playwright-core";
import { expect } from "vitest";
import { answering, NARROW, onPage, picture, WIDE } from "./studio";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

onPage("runs have rows, whatever their names and files hold", "", async (page) => {
  await page.locator(".run[data-run]").nth(6).waitFor();
  expect(await page.locator(".run .flaw").allTextContents()).toEqual([
    "config.json is damaged: it is not whole JSON",
  ]);
  expect(await page.locator(".run img").count()).toBe(0);
  await page.locator(".run small", { hasText: "same levels: random 1" }).first().waitFor();
  expect(await page.title()).toBe("Runs · Studio");
});

onPage("chosen runs are drawn over each other, also after a reload", "", async (page) => {
  for (const run of ["ppo2-0", "ppo2-1", "faster"]) await page.getByLabel(`Draw ${run}`).check();
  await page.locator(".plot canvas").nth(3).waitFor();
  await page.getByText("Seeds as one curve").click();
  await page.locator(".u-label", { hasText: "ppo2-0 and 1 more" }).first().waitFor();
  await page.reload();
  await page.locator(".u-label", { hasText: "faster" }).first().waitFor();
});

onPage(
  "a run in full shows its levels, commands and config",
  "#/runs?open=ppo2-2",
  async (page) => {
    await page.locator(".heat-row").nth(4).waitFor();
    expect(await page.getByLabel("Resume it").inputValue()).toMatch(
      /ppo2\.train --run-dir \S+ --resume/,
    );
    expect(await page.locator(".configs tr").count()).toBeGreaterThan(2);
    const [open, other] = await Promise.all(
      ["ppo2-2", "ppo2-1"].map((run) =>
        page
          .locator(`[data-run="${run}"]`)
          .evaluate((row) => getComputedStyle(row).backgroundColor),
      ),
    );
    expect(open).not.toBe(other);
  },
);

onPage("a run that is opened by a click is scrolled to", "#/runs?run=ppo2-0", async (page) => {
  await page.locator(".plot canvas").nth(3).waitFor();
  await page.getByRole("button", { name: "ppo2-1" }).click();
  const title = page.locator(".about > h2", { hasText: "ppo2-1" });
  await expect.poll(() => title.evaluate((one) => one === document.activeElement)).toBe(true);
  const { top } = await title.evaluate((one) => one.getBoundingClientRect());
  expect(top).toBeGreaterThanOrEqual(0);
  expect(top).toBeLessThan(WIDE.height - 100);
  expect(await page.locator(".configs details").evaluate((one) => one.hasAttribute("open"))).toBe(
    false,
  );
});

onPage(
  "configs are compared where two can be read, and their table is closed at first",
  "#/runs?run=faster&open=damaged",
  async (page) => {
    const configs = page.locator(".about .configs");
    await configs.locator(".flaw", { hasText: "config.json is damaged" }).waitFor();
    expect(await configs.locator("details").count()).toBe(0);
    await page.evaluate(() => (location.hash = "#/runs?run=faster&open=ppo2-0"));
    await configs.getByText("How the configs differ").waitFor();
    expect(await configs.locator("table").isVisible()).toBe(false);
  },
);

onPage("a run that was asked to stop says so until it has", "", async (page) => {
  const state = { state: "running" };
  await answering(page, (runs) => runs.map((run) => ({ ...run, ...state })));
  await page.route(/api\/stop/, (route) => route.fulfill({ json: { stopping: "ppo2-0" } }));
  const row = page.locator('[data-run="ppo2-0"]');
  const stop = row.getByRole("button", { name: "Stop" });
  await stop.click();
  await row.locator(".state", { hasText: "stopping…" }).waitFor();
  expect(await stop.isDisabled()).toBe(true);
  const notice = page.locator(".notice", { hasText: "ppo2-0 saves a checkpoint, and ends." });
  await notice.waitFor();
  state.state = "stopped";
  await row.locator(".state", { hasText: "stopped" }).waitFor();
  expect(await page.locator(".notice").isHidden()).toBe(true);
});

onPage("where there is no run, a command and the form make the first one", "", async (page) => {
  await answering(page, () => []);
  await page.getByText("There is no run here yet").waitFor();
  expect(await page.getByLabel("First run").inputValue()).toMatch(/^retro-agents train .*first$/);
  await page.getByLabel("Agent steps").waitFor();
  expect(await page.locator(".runs").isVisible()).toBe(false);
});

onPage("a share is shown in per cent", "#/runs?run=ppo2-0", async (page) => {
  const plot = page.locator(".plots .box", { hasText: "share of episodes that finish" });
  await plot.locator(".u-over").hover();
  await plot.locator(".u-value", { hasText: /^\d+ %$/ }).waitFor();
});

onPage("all tabs are seen on a phone", "", async (page) => {
  await page.setViewportSize(NARROW);
  const tabs = await page
    .locator("nav a")
    .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right));
  expect(Math.max(...tabs)).toBeLessThanOrEqual(NARROW.width);
});

onPage("the run that was opened last is shown, whichever answer comes last", "", async (page) => {
  let release = () => {};
  const held = new Promise<void>((free) => (release = free));
  await page.route(/api\/run\?run=ppo2-0/, async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole("button", { name: "ppo2-0" }).click();
  await page.getByRole("button", { name: "ppo2-1" }).click();
  const title = page.locator(".about h2", { hasText: "ppo2-1" });
  await title.waitFor();
  const late = page.waitForResponse(/api\/run\?run=ppo2-0/);
  release();
  await (await late).finished();
  await page.evaluate(() => new Promise((drawn) => setTimeout(drawn)));
  expect(await title.count()).toBe(1);
});

onPage("metrics that a run writes later are offered", "", async (page) => {
  let early = true;
  await page.route(/api\/columns/, (route) =>
    early ? route.fulfill({ json: ["episodes/r"] }) : route.continue(),
  );
  await answering(page, (runs) => runs);
  await page.getByLabel("Draw ppo2-0").check();
  await page.getByText("Metrics (1)").waitFor();
  early = false;
  await page.getByText(/Metrics \([2-9]\)/).waitFor();
});

onPage("a single metric that was chosen stays alone", "#/runs?run=ppo2-0", async (page) => {
  await page.evaluate(() => localStorage.setItem("bramble.studio.columns", '["episodes/r"]'));
  await page.reload();
  await page.locator(".plot canvas").first().waitFor();
  expect(await page.locator(".plots .box").count()).toBe(1);
});

onPage("rows that change leave the page where it was scrolled to", "", async (page) => {
  let beats = 0;
  await answering(page, (runs) => {
    beats += 1;
    return runs.map((run) => ({ ...run, steps: 1000 * beats }));
  });
  await page.getByLabel("Draw ppo2-0").check();
  await page.locator(".plot canvas").nth(3).waitFor();
  const scrolled = await page.evaluate(() => {
    window.scrollTo(0, document.body.scrollHeight);
    return window.scrollY;
  });
  expect(scrolled).toBeGreaterThan(300);
  const before = beats;
  await expect.poll(() => beats, { timeout: 20_000 }).toBeGreaterThan(before + 2);
  expect(await page.evaluate(() => window.scrollY)).toBeGreaterThan(300);
  expect(await page.getByLabel("Draw ppo2-0").evaluate((one) => one.matches(":focus"))).toBe(true);
});

onPage("what one uses of a running run stays while its numbers change", "", async (page) => {
  let beats = 0;
  await answering(page, (runs) => {
    beats += 1;
    return runs.map((run) => ({ ...run, state: "running", steps: 1000 * beats }));
  });
  const row = page.locator('[data-run="ppo2-0"]');
  const stop = await row.getByRole("button", { name: "Stop" }).elementHandle();
  await stop!.focus();
  await page.locator(".runs").evaluate((runs) => {
    const watch = new MutationObserver((changes) => (window.name += changes.length));
    watch.observe(runs, { childList: true });
  });
  const before = beats;
  await expect.poll(() => beats, { timeout: 20_000 }).toBeGreaterThan(before + 2);
  await row
    .locator(".steps", { hasText: new RegExp(`^(${before + 2}|${before + 3}),000 of`) })
    .waitFor();
  expect(await stop!.evaluate((button) => button === document.activeElement)).toBe(true);
  expect(await page.evaluate(() => window.name)).toBe(""); // no row was taken out and put back
});

for (const [hash, what] of [
  ["#/runs", "runs"],
  ["#/contests", "contests"],
  ["#/sweeps", "sweeps"],
] as const)
  onPage(`what stays wrong with ${what} is said once`, hash, async (page) => {
    let beats = 0;
    await page.route(`**/api/${what}?*`, (route) => {
      beats += 1;
      return route.fulfill({ body: "none" });
    });
    await page.locator(".notice", { hasText: "JSON" }).waitFor();
    await page.locator("main").evaluate((view) => {
      const watch = new MutationObserver((changes) => (window.name += changes.length));
      watch.observe(view, { childList: true, subtree: true });
    });
    const before = beats;
    await expect.poll(() => beats, { timeout: 20_000 }).toBeGreaterThan(before + 1);
    expect(await page.evaluate(() => window.name)).toBe("");
  });

onPage("a running run's speed says how much time is left", "", async (page) => {
  const change = { state: "running", speed: 100, steps: 640_000, timesteps: 1_000_000 };
  await answering(page, (runs) => runs.map((run) => ({ ...run, ...change })));
  await page.locator(".run .speed", { hasText: "100 steps/s1 h 0 min left" }).first().waitFor();
});

onPage("the form shows its command, and refuses what would not start", "", async (page) => {
  await page.getByText("Start a run").click();
  const command = page.getByLabel("The same as");
  await command.waitFor();
  expect(await command.inputValue()).toMatch(
    /python -m ppo2\.train --run-dir \S+ --preset=fast .*--timesteps=40000/,
  );
  await page.getByLabel("Agent steps").fill("many");
  await page.locator(".start .flaw", { hasText: "--timesteps" }).waitFor();
});

onPage("a name that was typed stays whatever the agent", "", async (page) => {
  await page.getByText("Start a run").click();
  const name = page.getByLabel("Name", { exact: true });
  await name.fill("mine");
  await page.locator(".start select").first().selectOption("rainbow");
  await page.locator(".start option", { hasText: "hessel" }).waitFor({ state: "attached" });
  expect(await name.inputValue()).toBe("mine");
});

onPage("the command has the name that another agent brings, however late", "", async (page) => {
  await page.getByText("Start a run").click();
  const name = page.getByLabel("Name", { exact: true });
  await name.waitFor();
  await page.route(/api\/choices/, async (route) => {
    await new Promise((late) => setTimeout(late, 500));
    await route.continue();
  });
  await page.locator(".start select").first().selectOption("rainbow");
  await expect.poll(() => name.inputValue(), { timeout: 20_000 }).toMatch(/^rainbow-/);
  await expect
    .poll(() => page.getByLabel("The same as").inputValue(), { timeout: 20_000 })
    .toContain(await name.inputValue());
});

onPage("a run that is gone leaves no row behind", "", async (page) => {
  let gone = "";
  await answering(page, (runs) => runs.filter(({ id }) => id !== gone));
  const row = page.locator('[data-run="ppo2-1"]');
  await row.evaluate((element) => Object.assign(window, { row: new WeakRef(element) }));
  gone = "ppo2-1";
  await row.waitFor({ state: "detached" });
  await expect
    .poll(async () => {
      await page.requestGC();
      return page.evaluate("row.deref() === undefined");
    })
    .toBe(true);
});

const LEVEL = "BrambleDash-Genesis-v0:BrambleWood.Act1";
onPage("episodes are filtered", "#/episodes?run=ppo2-0", async (page) => {
  await page.getByText("200 episodes of ppo2-0").waitFor();
  await page.getByLabel("Return from").fill("1400");
  await page.getByLabel("Return from").press("Enter");
  await page.getByText("40 episodes of ppo2-0").waitFor();
  await page.getByLabel("Level").selectOption({ label: "BrambleWood.Act5" });
  await page.getByLabel("Run").selectOption("jerk");
  await page.getByText("8 episodes of jerk").waitFor();
  expect(await page.getByLabel("Return from").inputValue()).toBe("1400"); // as it still applies
});

onPage("the address says whose episodes are shown", "#/episodes?run=ppo2-0", async (page) => {
  await page.getByText("200 episodes of ppo2-0").waitFor();
  await answering(page, (runs) =>
    runs.map((run) => (run.id === "jerk" ? { ...run, steps: 0 } : run)),
  );
  await page.evaluate(() => (location.hash = "#/episodes?run=jerk"));
  await page.getByText("40 episodes of jerk").waitFor();
  expect(await page.getByLabel("Run").inputValue()).toBe("jerk");
});

onPage(
  "a run that is gone has no episodes of another",
  "#/episodes?run=ppo2-0",
  async (page) => {
    await page.locator("tbody tr").first().waitFor();
    await page.evaluate(() => (location.hash = "#/episodes?run=gone"));
    await page.locator(".notice", { hasText: "there is no such run here" }).waitFor();
    expect(await page.locator("tbody tr").count()).toBe(0);
    expect(await page.locator(".ends").textContent()).toBe("");
    await page.getByLabel("Run").selectOption("ppo2-0");
    await page.getByText("200 episodes of ppo2-0").waitFor();
  },
  { refused: 1 },
);

onPage("where episodes ended is drawn for each level", "#/episodes?run=ppo2-0", async (page) => {
  const rows = page.locator(".ends .heat-row");
  await rows.nth(4).waitFor();
  expect(await rows.allTextContents()).toEqual(
    [1, 2, 3, 4, 5].map((act) => `BrambleWood.Act${act}20 of 40`),
  );
  const drawn = await rows.locator("canvas").evaluateAll((all) =>
    (all as HTMLCanvasElement[]).map((one) => {
      const { data } = one.getContext("2d")!.getImageData(0, 0, one.width, 1);
      return Array.from({ length: one.width }, (_, i) => i).filter((i) => data[4 * i + 3]);
    }),
  );
  expect(drawn).toEqual(new Array(5).fill([25])); // of 50: half of the way
});

onPage(
  "more episodes come once, however often they are asked for",
  "#/episodes?run=ppo2-0",
  async (page) => {
    await page.locator("tbody tr").nth(99).waitFor();
    await page.getByRole("button", { name: "More" }).evaluate((more: HTMLButtonElement) => {
      more.click();
      more.click();
    });
    await page.locator("tbody tr").nth(199).waitFor();
    expect(await page.locator("tbody tr").count()).toBe(200);
  },
);

onPage("an episode that was recorded is replayed", "#/episodes?run=jerk", async (page) => {
  await page.locator("td a", { hasText: "Replay" }).click();
  await page.locator(".screen .name", { hasText: "Recording" }).waitFor();
  await page.locator(".line", { hasText: "Tide Grotto 1" }).waitFor();
});

onPage("an episode of another game is replayed by its emulator", "", async (page) => {
  await page.route(/api\/episodes/, async (route) => {
    const answer = await (await route.fetch()).json();
    const rows = answer.rows.map((row: object) => ({ ...row, level: "Sonic-Genesis:Hill.Act1" }));
    await route.fulfill({ json: { ...answer, rows } });
  });
  await page.evaluate(() => (location.hash = "#/episodes?run=jerk"));
  const replay = page.locator("td a", { hasText: "Replay" });
  expect(await replay.getAttribute("href")).toMatch(/^#\/live\?/);
});

const focused = (page: Page) => page.evaluate(() => document.activeElement!.textContent);
onPage("the keyboard's focus stays on a tab, and on what is renewed", "", async (page) => {
  await page.locator("nav a", { hasText: "Compare" }).press("Enter");
  await page.getByRole("button", { name: "Compare" }).waitFor();
  expect(await focused(page)).toBe("Compare");
  let asked = 0;
  await page.route(/api\/contests/, async (route) => {
    const answer = await (await route.fetch()).json();
    asked += 1;
    await route.fulfill({
      json: answer.map((one: object) => ({ ...one, timesteps: 1000 * asked })),
    });
  });
  await page.locator("nav a", { hasText: "Contests" }).press("Enter");
  const summary = page.locator("summary", { hasText: "jerk, adapt" });
  await summary.focus();
  const title = await summary.textContent();
  await expect.poll(() => asked, { timeout: 20_000 }).toBeGreaterThan(2);
  expect(await focused(page)).toBe(title);
});

onPage("runs are compared, and the comparison is saved as one file", "#/compare", async (page) => {
  for (const entry of ["ppo2-0", "ppo2-1", "run-and-jump"])
    await page.getByLabel(entry, { exact: true }).check();
  await page.locator("button", { hasText: "Compare" }).click();
  await page.locator(".box td", { hasText: "ppo2-0 and 1 more" }).first().waitFor();
  await page.locator(".box th", { hasText: "Shown" }).waitFor();
  const saved = page.waitForEvent("download");
  await page.getByText("Save as one HTML file").click();
  expect((await saved).suggestedFilename()).toBe("comparison.html");
});

onPage("two seeds of one config are compared with each other", "#/compare", async (page) => {
  for (const entry of ["ppo2-0", "ppo2-1"]) await page.getByLabel(entry, { exact: true }).check();
  await page.getByRole("button", { name: "Compare" }).click();
  await page.locator("h2", { hasText: "Compared with ppo2-0" }).waitFor();
});

onPage("a chosen run that is gone is not compared", "#/compare", async (page) => {
  for (const entry of ["ppo2-0", "ppo2-1", "faster"])
    await page.getByLabel(entry, { exact: true }).check();
  await answering(page, (runs) => runs.filter(({ id }) => id !== "ppo2-0"));
  await page.locator("nav a", { hasText: "Sweeps" }).click();
  await page.locator("nav a", { hasText: "Compare" }).click();
  await page.getByRole("button", { name: "Compare" }).click();
  await page.locator("h2", { hasText: "Compared with ppo2-1" }).waitFor();
});

onPage("the comparison that was asked for last is shown", "#/compare", async (page) => {
  let release = () => {};
  const held = new Promise<void>((free) => (release = free));
  const hold = async (route: Route) => {
    await held;
    await route.continue();
  };
  await page.route(/api\/compare/, hold, { times: 1 });
  for (const entry of ["ppo2-0", "ppo2-1", "faster"])
    await page.getByLabel(entry, { exact: true }).check();
  const compare = page.getByRole("button", { name: "Compare" });
  await compare.click();
  await page.getByLabel("ppo2-0", { exact: true }).uncheck();
  await compare.click();
  const title = page.locator("h2", { hasText: "Compared with ppo2-1" });
  await title.waitFor();
  const late = page.waitForResponse(/api\/compare/);
  release();
  await (await late).finished();
  await page.evaluate(() => new Promise((drawn) => setTimeout(drawn)));
  expect(await title.count()).toBe(1);
});

onPage("a contest that died says why where contests are", "#/contests", async (page) => {
  await page.route(/api\/runs/, async (route) => {
    const answer = await (await route.fetch()).json();
    await route.fulfill({ json: { ...answer, failures: { mine: "no memory" } } });
  });
  await page.locator(".notice", { hasText: "mine failed: no memory" }).waitFor();
});

onPage("what Stop says outlives an earlier failure", "", async (page) => {
  let beats = 0;
  await page.route(/api\/runs/, async (route) => {
    const found = await route.fetch({ url: route.request().url().split("?")[0] });
    const answer = await found.json();
    const failures = { mine: "no memory" };
    await route.fulfill({ json: { ...answer, version: `${(beats += 1)}`, failures } });
  });
  await page.locator(".notice", { hasText: "mine failed: no memory" }).waitFor();
  await page.locator(".notice").evaluate((notice) => (notice.textContent = "ppo2-0 ends."));
  const before = beats;
  await expect.poll(() => beats, { timeout: 20_000 }).toBeGreaterThan(before + 1);
  expect(await page.locator(".notice").textContent()).toBe("ppo2-0 ends.");
});

onPage("a contest is started from its form, and is played", "#/contests", async (page) => {
  await page.getByText("Start a contest").click();
  const wanted = { Agent: "random", Levels: LEVEL, "Agent steps": "200", Seeds: "1", Name: "new" };
  for (const [label, value] of Object.entries(wanted))
    await page.getByLabel(label, { exact: true }).fill(value);
  await page.locator(".start", { hasText: /contest\.run --agent random/ });
  await page.getByRole("button", { name: "Start" }).click();
  await page.locator("tr", { hasText: /random.*new.*1 of 1 played/ }).waitFor({ timeout: 60_000 });
});

onPage("contests are ranked", "#/contests", async (page) => {
  await page.locator("td b", { hasText: "jerk, adapt" }).waitFor();
  await page
    .locator("td", { hasText: /^\d+ × .+ steps$/ })
    .first()
    .waitFor();
  await page.locator("summary", { hasText: "ppo2, adapt" }).click();
  await page.locator("details[open] td", { hasText: "2,100" }).first().waitFor();
});

onPage("a sweep has a plot and a grid", "#/sweeps", async (page) => {
  const plot = page.getByAltText("Plot of sweep");
  await expect.poll(() => plot.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(160);
  await picture(page, "sweep");
  await page.locator(".grid td a", { hasText: "1,500" }).click();
  await page.locator(".about .heat-row").first().waitFor();
});

for (const hash of ["runs?run=ppo2-0&open=ppo2-0", "episodes", "compare", "contests", "sweeps"])
  onPage(`axe finds nothing serious in ${hash}`, `#/${hash}`, async (page) => {
    await page.locator(":is(.heat-row, fieldset, td)").first().waitFor();
    await page.evaluate(axe);
    const { violations } = (await page.evaluate("axe.run()")) as {
      violations: { id: string; impact: string; nodes: { html: string }[] }[];
    };
    const serious = violations.filter(({ impact }) => /serious|critical/.test(impact));
    expect(serious.map(({ id, nodes }) => `${id}: ${nodes[0].html}`)).toEqual([]);
  });
