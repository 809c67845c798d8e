/** The studio's pages of games in a browser. */

import type { Page } from "playwright-core";
import { expect } from "vitest";
import { takes } from "./browser";
import { onPage, picture } from "./studio";

const net = (name: string) => ({
  path: new URL(`./nets/${name}.onnx`, import.meta.url).pathname,
  contentType: "application/octet-stream",
});

/** Wait until the game moves. */
async function plays(page: Page): Promise<void> {
  const before = await page.locator(".controls .line").textContent();
  await page.locator(".controls .line").filter({ hasNotText: before! }).waitFor();
}

onPage("a net plays in the browser's own engine", "#/watch?players=run-and-jump", async (page) => {
  await page.waitForFunction(() =>
    /[1-9]\d* points/.test(document.querySelector(".line")!.textContent!),
  );
  await page.locator("nav a", { hasText: "Runs" }).click();
  await page.locator(".run[data-run]").first().waitFor();
  expect(await takes(page, "ArrowRight")).toBe(false); // by a game that is not shown
});

onPage("JERK learns on the page", "#/runs", async (page) => {
  await page.getByRole("link", { name: "Learn" }).click();
  await page.locator("button", { hasText: "Learn this act" }).waitFor();
});

onPage("a person plays", "#/play?act=TideGrotto.Act1", async (page) => {
  await page.locator(".line", { hasText: "Tide Grotto 1" }).waitFor();
  await page.keyboard.down("ArrowRight");
  await page.locator(".line", { hasText: /[1-9]\d* points/ }).waitFor();
  await page.locator(".lede", { hasText: "Space jumps" }).waitFor();
  await page.locator(".lede", { hasText: "in this browser" }).waitFor();
  expect(await page.title()).toBe("Play · Studio");
  await page.getByRole("link", { name: "Runs" }).click();
  await page.getByRole("link", { name: "Race" }).click();
  await page.locator(".lede", { hasText: "The same act and seed for everybody" }).waitFor();
});

const twice = encodeURIComponent;
const JERK = [
  "jerk@step-000000000",
  "jerk@recordings/env-00/BrambleDash-Genesis-v0-BrambleWood.Act1-000005.bk2",
].map(twice);
onPage(
  "a JERK run's sequence and a recording race in the browser's own engine",
  `#/race?act=TideGrotto.Act1&players=${twice(JERK.join())}`,
  async (page) => {
    await page.locator(".screen .name", { hasText: "jerk after 0 steps" }).waitFor();
    await page.locator(".screen .name", { hasText: "jerk: BrambleDash" }).waitFor();
    await page.getByLabel("Speed").selectOption("4");
    await page.locator(".screen .banner", { hasText: "1,914 points" }).waitFor();
  },
);

/** Show a run's net, whose answer is routed by then. */
async function faster(page: Page): Promise<void> {
  const hash = `#/watch?players=${twice(twice("faster@step-000000001"))}`;
  await page.evaluate((there) => (location.hash = there), hash);
}

onPage(
  "a run's net is asked for anew at each visit, and the one before ends",
  "#/runs",
  async (page) => {
    let asked = 0;
    await page.route(/api\/player/, (route) => {
      asked++;
      return route.fulfill(net("gru"));
    });
    await faster(page);
    for (const visit of [1, 2, 3]) {
      await expect.poll(() => asked).toBe(visit);
      await page.locator(".name", { hasText: "faster after 1 steps" }).waitFor();
      await page.locator(".notice").waitFor({ state: "hidden" });
      await plays(page);
      await expect.poll(() => page.workers().length).toBe(1);
      await page.locator("nav a", { hasText: "Runs" }).click();
      await page.locator(".run[data-run]").first().waitFor();
      await page.goBack();
    }
  },
);

onPage(
  "a run's net that comes late does not play for the one that was made anew",
  "#/runs",
  async (page) => {
    const asked: ((name: string) => Promise<void>)[] = [];
    await page.route(/api\/player/, (route) => {
      asked.push((name) => route.fulfill(net(name)));
    });
    await faster(page);
    await expect.poll(() => asked.length).toBe(1);
    await page.locator("nav a", { hasText: "Runs" }).click();
    await page.locator(".run[data-run]").first().waitFor();
    await page.goBack();
    await expect.poll(() => asked.length).toBe(2);
    const late = page.waitForResponse(/api\/player/);
    await asked[0]("quantiles");
    await (await late).finished();
    await page.waitForTimeout(500);
    await asked[1]("gru");
    await page.locator(".bars output", { hasText: "%" }).first().waitFor(); // no values
    await expect.poll(() => page.workers().length).toBe(1);
  },
);

onPage(
  "a run's net is asked for once if Again is pressed while it is prepared",
  "#/watch?players=run-and-jump",
  async (page) => {
    await plays(page);
    let asked = 0;
    let release = () => {};
    const held = new Promise<void>((free) => (release = free));
    await page.route(/api\/player/, async (route) => {
      asked++;
      await held;
      await route.fulfill(net("gru"));
    });
    await faster(page);
    await page.locator(".notice", { hasText: "being prepared" }).waitFor();
    await page.getByRole("button", { name: "Again" }).click();
    await page.locator(".name", { hasText: "faster after 1 steps" }).waitFor();
    release();
    await plays(page);
    expect(asked).toBe(1);
  },
);

onPage(
  "a recording that is not there is told, and a game plays",
  "#/runs",
  async (page) => {
    await page.route(/api\/player/, (route) => route.fulfill(net("gru")));
    await faster(page);
    await page.locator(".name", { hasText: "faster after 1 steps" }).waitFor();
    await page.locator("nav a", { hasText: "Runs" }).click();
    await page.locator(".run[data-run]").first().waitFor();
    await page.evaluate(() => (location.hash = "#/watch?run=faster&file=none.bk2"));
    await page.locator(".notice", { hasText: "there is no such recording" }).waitFor();
    await plays(page);
  },
  { refused: 1 },
);

onPage(
  "a recording plays after a net that could not be made",
  "#/runs",
  async (page) => {
    await page.route(/api\/player/, (route) =>
      route.fulfill({ status: 400, json: { error: "it has no such step" } }),
    );
    await faster(page);
    await page.locator(".notice", { hasText: "it has no such step" }).waitFor();
    await page.evaluate(() => (location.hash = "#/episodes?run=jerk"));
    await page.locator("td a", { hasText: "Replay" }).click();
    await page.locator(".screen .name", { hasText: "Recording" }).waitFor();
  },
  { refused: 2 }, // before it plays, and as it plays
);

onPage(
  "a recording that comes late leaves the tab that was chosen since",
  "#/runs",
  async (page) => {
    let release = () => {};
    const held = new Promise<void>((free) => (release = free));
    await page.route(/api\/file/, async (route) => {
      await held;
      await route.fulfill({ path: new URL("./recording.bk2", import.meta.url).pathname });
    });
    const asked = page.waitForRequest(/api\/file/);
    await page.evaluate(() => (location.hash = "#/watch?run=faster&file=late.bk2"));
    await asked;
    await page.getByRole("link", { name: "Race" }).click();
    await page.locator(".screen").nth(1).waitFor();
    const late = page.waitForResponse(/api\/file/);
    release();
    await (await late).finished();
    await page.evaluate(() => new Promise((drawn) => setTimeout(drawn)));
    expect(await page.evaluate(() => location.hash)).toBe("#/race");
    expect(await page.locator(".screen").count()).toBe(2);
  },
);

onPage("a recording that is none is told, and a game plays", "#/runs", async (page) => {
  await page.route(/api\/file/, (route) => route.fulfill({ body: "none" }));
  await page.evaluate(() => (location.hash = "#/watch?run=faster&file=none.bk2"));
  await page.locator(".notice", { hasText: "recording" }).waitFor();
  await plays(page);
});

onPage(
  "an emulator's game is shown, a key moves the hero, and a second tab does no harm",
  "#/live?agent=run-and-jump&level=BrambleDash-Genesis-v0:BrambleWood.Act1",
  async (page) => {
    await page
      .locator(".pane .line", { hasText: /points after [1-9]/ })
      .first()
      .waitFor();
    const second = await page.context().newPage();
    await second.goto(page.url());
    await second
      .locator(".pane .line", { hasText: /points after [1-9]/ })
      .first()
      .waitFor();
    await second.close();
    await page.keyboard.down("ArrowLeft");
    await page.locator(".pane .line", { hasText: "you play" }).waitFor();
    await page.evaluate(() => dispatchEvent(new Event("blur"))); // as on a change of windows
    await page.locator(".pane .line", { hasNotText: "you play" }).first().waitFor();
  },
);

onPage(
  "held keys play, whichever button was clicked, until they are let go",
  "#/live",
  async (page) => {
    const told: string[] = [];
    await page.routeWebSocket(/api.stream/, (game) =>
      game.onMessage((word) => told.push(`${word}`)),
    );
    await page.reload();
    const end = page.getByRole("button", { name: "End" });
    await page.locator("button.main").click(); // and has the focus
    await expect.poll(() => told.length).toBe(2);
    await page.keyboard.down("ArrowRight");
    expect(await takes(page, "Space", true)).toBe(true);
    await end.focus();
    await page.keyboard.up("ArrowRight");
    await page.keyboard.press("Space"); // presses the button
    await expect
      .poll(() => told.slice(2))
      .toEqual([expect.stringMatching(/"act","action":-?\d/), '{"do":"act","action":null}']);
    await page.locator(".pane .line", { hasText: "The game is over" }).first().waitFor();
  },
);

onPage("a connection that is lost is told, and one that ends is not", "#/live", async (page) => {
  let code = 1011;
  await page.routeWebSocket(/api.stream/, (game) => game.close({ code }));
  await page.reload();
  const play = page.locator("button.main");
  await play.click();
  await page.locator(".notice", { hasText: "connection to the studio was lost" }).waitFor();
  code = 1000;
  await play.click();
  await page.locator(".pane .line", { hasText: "The game is over" }).first().waitFor();
  expect(await page.locator(".notice").isHidden()).toBe(true);
});

onPage("what is pressed while a game is reached is told once it is", "#/live", async (page) => {
  const told: string[] = [];
  let reach = () => {};
  const reached = new Promise<void>((found) => (reach = found));
  await page.routeWebSocket(/api.stream/, async (game) => {
    game.onMessage((word) => told.push(`${word}`));
    await reached;
  });
  await page.reload();
  await page.locator("button.main").click();
  await page.locator(".pane .line", { hasText: "being prepared… 1 s" }).first().waitFor();
  for (const name of ["Pause", "Step", "Next episode"])
    expect(await page.getByRole("button", { name }).isDisabled()).toBe(true);
  await page.getByLabel("Speed").selectOption("4");
  reach();
  await expect.poll(() => told.slice(2)).toEqual(['{"do":"speed","speed":4}']);
});

onPage("a damaged link to a player is told", "#/watch?players=%25", async (page) => {
  await page.locator(".notice", { hasText: "The player in this link is not here" }).waitFor();
});

onPage("nothing is said of a game where none began", "#/live", async (page) => {
  expect(await page.getByRole("button", { name: "End" }).isDisabled()).toBe(true);
  await page.getByRole("link", { name: "Runs" }).click();
  await page.getByRole("link", { name: "Live" }).click();
  expect(await page.locator(".pane .line").allTextContents()).toEqual(["", ""]);
});

onPage("Back and a link show as many games as they name", "#/live", async (page) => {
  const asked: (string | null)[] = [];
  await page.routeWebSocket(/api.stream/, (game) => {
    asked.push(new URL(game.url()).searchParams.get("other"));
  });
  await page.reload();
  const play = page.locator("button.main");
  const shown = async (others: string[], panes: number) => {
    await expect.poll(() => asked).toEqual(others);
    expect(await page.locator(".pane:visible").count()).toBe(panes);
  };
  await play.click();
  await shown([""], 1);
  await page.getByLabel("Beside it").fill("rainbow");
  await play.click();
  await shown(["", "rainbow"], 2);
  await page.goBack();
  await shown(["", "rainbow", ""], 1);
  await page.goForward();
  await shown(["", "rainbow", "", "rainbow"], 2);
  await page.evaluate(() => (location.hash = "#/live?agent=ppo2"));
  await shown(["", "rainbow", "", "rainbow", ""], 1);
});

const PAIR = `agent=faster@recordings/60-steps.bk2&other=faster@recordings/24-steps.bk2&level=`;
onPage(
  "two agents are shown in step until both have ended, and who is ahead is said",
  `#/live?${PAIR}`,
  async (page) => {
    const steps = async () =>
      (await page.locator(".pane .line").allTextContents()).map(
        (line) => /after (\d+) steps/.exec(line)?.[1],
      );
    await page.locator(".verdict", { hasText: /^After \d+ steps/ }).waitFor();
    await page.locator("button", { hasText: "Step" }).click();
    const [one, other] = await steps();
    expect(one).toBe(other);
    await picture(page, "in-step");
    await page.getByLabel("Speed").selectOption("4");
    await page.locator("button", { hasText: "Resume" }).click();
    await page.locator(".verdict", { hasText: /^Both have ended: .* is ahead by/ }).waitFor();
    expect(await steps()).toEqual(["60", "24"]);
    expect(await page.locator(".pane .banner").allTextContents()).toEqual([
      "Ended after 60 steps",
      "Ended after 24 steps",
    ]);
    await picture(page, "ended");
    await page.locator("button", { hasText: "Next episode" }).click();
    await page.locator(".pane .line", { hasText: "Episode 2" }).nth(1).waitFor();
  },
);

onPage(
  "a game that cannot be played is told",
  "#/live?agent=nobody&level=nowhere",
  async (page) => {
    await page.locator(".notice", { hasText: "no such agent" }).waitFor();
  },
);
