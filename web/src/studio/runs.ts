/** The view of all runs: a table, curves of those that are chosen, and one in full. */

import { announce, h } from "../views/dom";
import { About, copied } from "./about";
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
    stop: (run) => void this.stop(run),
  });
  private readonly charts = new Charts((error) => this.fail(error));
  private readonly about = new About((error) => this.fail(error));
  private readonly start = new StartRun((run) => this.say(`${run} begins.`)).root;
  /** What is shown instead of rows where there is no run. */
  private readonly none = h("section", { class: "box", hidden: true });
  readonly root = h(
    "main",
    {},
    this.notice,
    h("div", { class: "above" }, this.search, this.line),
    this.rows.root,
    this.none,
    this.start,
    this.charts.root,
    this.about.root,
  );
  private runs: Run[] = [];
  private version = "";
  private chosen: string[] = [];
  private open = "";
  /** Runs that were asked to stop -> what was said of it. */
  private readonly stopping = new Map<string, string>();
  /** What was wrong at the last beat, and the runs that could not be started. */
  private fails = "";
  private failures = "";
  private readonly pulse = new Pulse(() => this.beat(), EVERY);

  show(query: URLSearchParams): void {
    this.chosen = query.getAll("run");
    const open = query.get("open") ?? "";
    if (open && open !== this.open) this.about.reveal = true;
    this.open = open;
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
    for (const [run, said] of this.stopping)
      if (!this.runs.some(({ id, state }) => id === run && state === "running")) {
        this.stopping.delete(run);
        if (this.notice.textContent === said) this.say("");
      }
    this.invite(found);
    this.line.dataset.root = found.root;
    this.fill();
  }

  /** Where there is no run, say how to get one. */
  private invite({ rows, first }: Answer): void {
    const were = !this.none.hidden;
    this.none.hidden = rows.length > 0;
    this.rows.root.hidden = !rows.length;
    if (rows.length || were) return;
    const words = "There is no run here yet. This command trains a first one, in about a minute:";
    this.none.replaceChildren(h("p", { class: "line" }, words), copied("First run", first));
    this.start.open = true;
  }

  private fill(): void {
    const words = this.search.value.toLowerCase().split(/\s+/);
    const shown = this.runs.filter(({ id, agent, levels, state }) =>
      words.every((word) => `${id} ${agent} ${levels} ${state}`.toLowerCase().includes(word)),
    );
    const stopping = new Set(this.stopping.keys());
    this.rows.show(shown, { chosen: this.chosen, open: this.open, stopping });
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
    const said = `${run} saves a checkpoint, and ends.`;
    this.stopping.set(run, said);
    this.fill();
    try {
      await tell("stop", { run });
      if (this.stopping.has(run)) this.say(said); // it has not ended meanwhile
    } catch (error) {
      this.stopping.delete(run);
      this.fill();
      this.say((error as Error).message);
    }
  }
}
