/** The view of all runs: a table, curves of those that are chosen, and one in full. */

import { announce, h } from "../views/dom";
import { About } from "./about";
import { maybe, queryOf, tell, type Run, type Runs as Answer } from "./api";
import { Charts } from "./charts";
import { Rows } from "./rows";
import { StartRun } from "./start";
import { Pulse, type View } from "./view";

const EVERY = 2000;
const ORDER = ["running", "damaged", "killed", "stopped", "finished"];

export class Runs implements View {
  private readonly notice = h("p", { class: "notice", role: "alert", hidden: true });
  private readonly line = h("p", { class: "line" });
  private readonly search = h("input", {
    type: "search",
    placeholder: "Filter by name, agent or levels",
    "aria-label": "Filter",
    oninput: () => this.fill(),
  });
  private readonly rows = new Rows({
    choose: (run, on) => this.choose(run, on),
    open: (run) => this.go(this.chosen, this.open === run ? "" : run),
    stop: (run) => this.stop(run),
  });
  private readonly charts = new Charts((error) => this.fail(error));
  private readonly about = new About((error) => this.fail(error));
  readonly root = h(
    "main",
    {},
    this.notice,
    h("div", { class: "above" }, this.search, this.line),
    this.rows.root,
    new StartRun((run) => this.say(`${run} begins.`)).root,
    this.charts.root,
    this.about.root,
  );
  private runs: Run[] = [];
  private version = "";
  private chosen: string[] = [];
  private open = "";
  /** What was wrong at the last beat, and the runs that could not be started. */
  private fails = "";
  private failures = "";
  private readonly pulse = new Pulse(() => this.beat(), EVERY);

  show(query: URLSearchParams): void {
    this.chosen = query.getAll("run");
    this.open = query.get("open") ?? "";
    this.pulse.start();
    this.fill();
    void this.draw();
  }

  hide(): void {
    this.pulse.stop();
  }

  private say(text: string): void {
    announce(this.notice, text);
  }

  private fail(error: Error): void {
    this.say((this.fails = error.message));
  }

  private go(chosen: string[], open: string): void {
    location.hash = `#/runs?${queryOf({ run: chosen, ...(open && { open }) })}`;
  }

  private choose(run: string, on: boolean): void {
    const others = this.chosen.filter((other) => other !== run);
    this.go(on ? [...others, run] : others, this.open);
  }

  private async beat(): Promise<void> {
    try {
      const found = await maybe<Answer>("runs", { since: this.version });
      const before = this.fails;
      this.fails = "";
      if (found) this.take(found);
      else if (!before) return;
      await this.draw();
      if (before && !this.fails) this.say(this.failures);
    } catch (error) {
      this.fail(error as Error);
    }
  }

  private take(found: Answer): void {
    this.version = found.version;
    this.runs = found.rows.sort(
      (a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || (b.begun ?? 0) - (a.begun ?? 0),
    );
    const failed = Object.entries(found.failures).map(([run, why]) => `${run} failed: ${why}`);
    const text = failed.join("; ");
    if (text !== this.failures) this.say(text);
    this.failures = text;
    this.line.dataset.root = found.root;
    this.fill();
  }

  private fill(): void {
    const words = this.search.value.toLowerCase().split(/\s+/);
    const shown = this.runs.filter(({ id, agent, levels, state }) =>
      words.every((word) => `${id} ${agent} ${levels} ${state}`.toLowerCase().includes(word)),
    );
    this.rows.show(shown, { chosen: this.chosen, open: this.open });
    const running = this.runs.filter(({ state }) => state === "running").length;
    const root = this.line.dataset.root ?? "";
    this.line.textContent = this.version
      ? `${this.runs.length} runs in ${root}, ${running} running`
      : "Looking for runs…";
  }

  private async draw(): Promise<void> {
    const here = this.chosen.filter((run) => this.runs.some(({ id }) => id === run));
    const open = this.runs.some(({ id }) => id === this.open) ? this.open : "";
    await Promise.all([this.charts.show(here), this.about.show(open, here)]);
  }

  private async stop(run: string): Promise<void> {
    try {
      await tell("stop", { run });
      this.say(`${run} saves a checkpoint, and ends.`);
    } catch (error) {
      this.say((error as Error).message);
    }
  }
}
