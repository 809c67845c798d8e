/** The view of contests: a leaderboard, and each one's levels and seeds as they are played. */

import { announce, h } from "../views/dom";
import { ask, queryOf, type Contest, type Runs } from "./api";
import { StartContest } from "./start";
import { count, levelOf, short } from "./text";
import { Pulse, type View } from "./view";
import { table, whisker } from "./whisker";

const EVERY = 5000;
const MOST = 10_000;

export class Contests implements View {
  private readonly notice = h("p", { class: "notice", role: "alert", hidden: true });
  private readonly board = h("section", { class: "box" });
  private readonly each = h("div", { class: "each" });
  readonly root = h(
    "main",
    { class: "contests" },
    this.notice,
    this.board,
    this.each,
    new StartContest(() => void this.beat()).root,
  );
  private open = new Set<string>();
  private shown = "";
  private readonly pulse = new Pulse(() => this.beat(), EVERY);

  show(): void {
    this.pulse.start();
  }

  hide(): void {
    this.pulse.stop();
  }

  private async beat(): Promise<void> {
    try {
      const [found, { rows, failures }] = await Promise.all([
        ask<Contest[]>("contests"),
        ask<Runs>("runs"),
      ]);
      const failed = Object.entries(failures).filter(([name]) =>
        rows.every(({ id }) => id !== name),
      );
      announce(this.notice, failed.map(([name, why]) => `${name} failed: ${why}`).join("; "));
      const key = JSON.stringify(found);
      if (key !== this.shown) this.fill(found);
      this.shown = key;
    } catch (error) {
      announce(this.notice, (error as Error).message);
    }
  }

  private fill(contests: Contest[]): void {
    const focus = document.activeElement?.getAttribute("data-key");
    const rows = contests.map((one, i) => [
      one.mean === null || one.shortfall ? "–" : String(i + 1),
      h(
        "span",
        {},
        h("b", {}, titleOf(one)),
        h("small", {}, one.id),
        one.shortfall ? h("small", {}, one.shortfall) : null,
      ),
      one.error ? "" : `${count(levelsOf(one).length)} × ${short(one.timesteps ?? 0)} steps`,
      one.mean === null ? "–" : count(one.mean),
      one.mean === null ? "" : whisker(one.mean, [one.low ?? null, one.high ?? null], [0, MOST]),
      one.error
        ? h("span", { class: "flaw" }, one.error)
        : h("b", { class: `state ${one.running ? "running" : ""}` }, stateOf(one)),
    ]);
    const scored = contests.filter(({ mean }) => mean !== null);
    const played = scored.map(({ id }) => id);
    const kinds = new Set(scored.map((one) => JSON.stringify([levelsOf(one), one.timesteps])));
    const report = h(
      "a",
      {
        href: `/api/report?${queryOf({ contest: played })}`,
        target: "_blank",
        rel: "noopener",
        "data-key": "report",
      },
      "Report on all of them",
    );
    this.board.replaceChildren(
      h("h2", {}, "Leaderboard"),
      contests.length
        ? table(
            ["", "Agent", "Levels", "Score", `of ${count(MOST)}, with 95 % over seeds`, ""],
            rows,
          )
        : h("p", { class: "line" }, "There are no contests below this folder yet."),
      kinds.size > 1 ? h("p", { class: "line" }, DIFFER) : "",
      played.length ? h("p", {}, report) : "",
    );
    this.each.replaceChildren(
      ...contests.filter(({ error }) => !error).map((one) => this.grid(one)),
    );
    const again = focus && `[data-key="${CSS.escape(focus)}"]`;
    if (again) this.root.querySelector<HTMLElement>(again)?.focus({ preventScroll: true });
  }

  /** Levels and seeds of a contest: what each has reached. */
  private grid(contest: Contest): HTMLElement {
    const all = [...contest.jobs, ...contest.missing];
    const seeds = [...new Set(all.map(({ seed }) => seed))].sort((a, b) => a - b);
    const levels = levelsOf(contest);
    const rows = levels.map((level) => [
      levelOf(level),
      ...seeds.map((seed) => {
        const job = contest.jobs.find((one) => one.level === level && one.seed === seed);
        if (!job) return "–";
        const limit = job.limits.timesteps ?? contest.timesteps ?? 0;
        const whole = job.status === "complete" && job.steps >= limit;
        const mean = job.mean_return === null ? "–" : count(job.mean_return);
        const bar = h("i", { class: "gauge" });
        bar.style.setProperty("--share", String(Math.min(1, (job.mean_return ?? 0) / MOST)));
        const far = whole ? null : h("small", {}, `${job.status}, ${short(job.steps)} steps`);
        return h("span", {}, mean, bar, far);
      }),
    ]);
    const details = h(
      "details",
      { class: "box", open: this.open.has(contest.id) },
      h("summary", { "data-key": `grid ${contest.id}` }, titleOf(contest)),
      table(["Level", ...seeds.map((seed) => `Seed ${seed}`)], rows),
    );
    details.addEventListener("toggle", () =>
      details.open ? this.open.add(contest.id) : this.open.delete(contest.id),
    );
    return details;
  }
}

const DIFFER =
  "These contests differ in their levels or steps, so this order says little; Compare takes the levels that they share.";

const levelsOf = ({ jobs, missing }: Contest) =>
  [...new Set([...jobs, ...missing].map(({ level }) => level))].sort();

const titleOf = ({ id, name, mode }: Contest) => [name || id, mode].filter(Boolean).join(", ");

function stateOf({ running, jobs, planned }: Contest): string {
  const over = jobs.filter(({ status }) => status !== "interrupted").length;
  return `${running ? "running, " : ""}${over} of ${planned || jobs.length} played`;
}
