/** The view of a run's episodes: a table with filters, where they ended, and recordings. */

import { GAME } from "../game/world";
import { button, choice, context, h, points } from "../views/dom";
import { ask, queryOf, type Episode, type Episodes as Answer, type Runs } from "./api";
import { amount, levelOf, short } from "./text";
import type { View } from "./view";

const HEADS: [string, string][] = [
  ["step", "Step"],
  ["level", "Level"],
  ["r", "Return"],
  ["l", "Length"],
  ["progress", "Progress"],
  ["finished", "End"],
];
const BINS = 50;

export class Episodes implements View {
  private readonly notice = h("p", { class: "notice", role: "alert", hidden: true });
  private readonly fields = h("div", { class: "fields" });
  private readonly line = h("p", { class: "line" });
  private readonly ends = h("div", { class: "ends" });
  private readonly body = h("tbody");
  private readonly head = h("tr");
  private readonly more = button("More", () => void this.load(this.rows.length), { hidden: true });
  private readonly files = h("section", { class: "box", hidden: true });
  readonly root = h(
    "main",
    { class: "episodes" },
    this.notice,
    h("section", { class: "controls", "aria-label": "Filters" }, this.fields, this.line),
    h("section", { class: "box" }, h("h2", {}, "Where the newest ended"), this.ends),
    h("section", { class: "box" }, h("table", {}, h("thead", {}, this.head), this.body), this.more),
    this.files,
  );
  private run = "";
  private readonly given: Record<string, string> = { order: "step", up: "0" };
  private rows: Episode[] = [];
  private count = 0;
  private opened = 0;
  private asked = 0;

  show(query: URLSearchParams): void {
    void this.open(query.get("run") ?? "");
  }

  hide(): void {}

  private say(text: string): void {
    this.notice.hidden = !text;
    this.notice.textContent = text;
  }

  private async open(run: string): Promise<void> {
    const turn = ++this.opened;
    let names: string[] = [];
    try {
      const { rows } = await ask<Runs>("runs");
      if (turn !== this.opened) return;
      names = rows.filter(({ steps }) => steps).map(({ id }) => id);
      if (run && !names.includes(run)) names.unshift(run); // has none yet, or is gone
      this.run = run || (names[0] ?? "");
      this.clear();
      if (!this.run) {
        this.line.textContent = "No run has an episode yet.";
        return;
      }
      let answer = await this.read(0);
      if (answer && this.given.level && !answer.levels.includes(this.given.level)) {
        delete this.given.level;
        answer = await this.read(0);
      }
      if (answer) this.offer(names, answer.levels);
    } catch (error) {
      if (turn !== this.opened) return;
      this.say((error as Error).message);
      if (names.length) this.offer(names, []);
    }
  }

  /** Show nothing of the run before. */
  private clear(): void {
    this.say("");
    this.rows = [];
    this.line.textContent = "";
    this.ends.replaceChildren();
    this.body.replaceChildren();
    this.more.hidden = this.files.hidden = true;
  }

  private set(name: string, value: string): void {
    this.given[name] = value;
    void this.load(0);
  }

  private offer(runs: string[], levels: string[]): void {
    const options = (all: string[], first: string) => [
      ["", first] as [string, string],
      ...all.map((one): [string, string] => [one, levelOf(one)]),
    ];
    const run = choice(
      "Run",
      runs.map((name) => [name, name]),
      this.run,
      (name) => (location.hash = `#/episodes?${queryOf({ run: name })}`),
    );
    const level = choice("Level", options(levels, "all"), this.given.level ?? "", (value) =>
      this.set("level", value),
    );
    const ended = choice(
      "End",
      [
        ["", "all"],
        ["finished", "finished"],
        ["lost", "not finished"],
      ],
      this.given.ended ?? "",
      (value) => this.set("ended", value),
    );
    const least = h("input", {
      type: "number",
      value: this.given.least ?? "",
      onchange: () => this.set("least", least.value),
    });
    const most = h("input", {
      type: "number",
      value: this.given.most ?? "",
      onchange: () => this.set("most", most.value),
    });
    this.fields.replaceChildren(
      run,
      level,
      ended,
      h("label", { class: "field seed" }, h("span", {}, "Return from"), least),
      h("label", { class: "field seed" }, h("span", {}, "to"), most),
    );
  }

  private async load(from: number): Promise<void> {
    try {
      await this.read(from);
    } catch (error) {
      this.say((error as Error).message);
    }
  }

  /** Ask for rows and show them. Returns null if others were asked for meanwhile. */
  private async read(from: number): Promise<Answer | null> {
    const turn = ++this.asked;
    const isNewest = () => turn === this.asked;
    const query = {
      ...this.given,
      run: this.run,
      from: String(from),
      ...(from && { until: String(this.count) }),
    };
    const answer = await ask<Answer>("episodes", query).catch((error: Error) => {
      if (isNewest()) throw error;
    });
    if (!answer || !isNewest()) return null;
    if (!from) this.count = answer.count;
    this.rows = from ? [...this.rows, ...answer.rows] : answer.rows;
    this.say("");
    this.fill(answer);
    return answer;
  }

  private fill({ total, ends, files }: Answer): void {
    this.line.textContent = `${points(total)} episodes of ${this.run}`;
    this.more.hidden = this.rows.length >= total;
    const sorter = [...this.head.children].findIndex((one) => one.contains(document.activeElement));
    this.head.replaceChildren(
      ...HEADS.map(([name, title]) => {
        const sorted = this.given.order === name;
        const up = this.given.up === "1";
        const turn = button(`${title}${sorted ? (up ? " ↑" : " ↓") : ""}`, () => {
          this.given.order = name;
          this.set("up", sorted && !up ? "1" : "0");
        });
        turn.className = "link";
        return h("th", { scope: "col" }, turn);
      }),
      h("td"),
    );
    this.head.children[sorter]?.querySelector("button")?.focus();
    this.body.replaceChildren(
      ...this.rows.map(({ step, level, r, l, progress, finished, file }) =>
        h(
          "tr",
          {},
          h("td", {}, points(step)),
          h("td", { title: level }, levelOf(level)),
          h("td", {}, amount(r)),
          h("td", {}, points(l)),
          h("td", {}, progress === null ? "–" : `${Math.round(100 * progress)} %`),
          h("td", {}, finished ? "finished" : "–"),
          h(
            "td",
            {},
            file && h("a", { href: this.replay(file, level.startsWith(`${GAME}:`)) }, "Replay"),
          ),
        ),
      ),
    );
    this.ends.replaceChildren(...strips(ends));
    this.files.hidden = !files.length;
    this.files.replaceChildren(
      h("h2", {}, "Recordings and films"),
      ...files.map((file) => this.file(file)),
    );
  }

  /** The address that plays a recording again in the browser's own engine, or in the emulator. */
  private replay(file: string, here: boolean): string {
    return here
      ? `#/watch?${queryOf({ run: this.run, file })}`
      : `#/live?${queryOf({ agent: `${this.run}@${file}`, other: "", level: "" })}`;
  }

  private file(file: string): HTMLElement {
    const address = `/api/file?${queryOf({ run: this.run, file })}`;
    if (file.endsWith(".mp4"))
      return h(
        "details",
        {},
        h("summary", {}, file),
        h("video", { src: address, controls: true, loop: true, preload: "none" }),
      );
    return h(
      "p",
      { class: "links" },
      h("a", { href: this.replay(file, true) }, `Replay ${file}`),
      h(
        "a",
        { href: this.replay(file, false), "aria-label": `Replay ${file} in the emulator` },
        "in the emulator",
      ),
    );
  }
}

/** How far the newest episodes came on each level: a bar per level, dark where many ended. */
function strips(ends: Answer["ends"]): HTMLElement[] {
  const known = ends.filter((end): end is [string, number, boolean] => end[1] !== null);
  const levels = [...new Set(known.map(([level]) => level))].sort();
  if (!levels.length) return [h("p", { class: "line" }, "Nothing is known of where they ended.")];
  return levels.map((level) => {
    const here = known.filter(([name]) => name === level);
    const bins = new Array<number>(BINS).fill(0);
    for (const [, progress, finished] of here)
      if (!finished) bins[Math.min(BINS - 1, Math.floor(progress * BINS))]++;
    const canvas = h("canvas", { width: BINS, height: 1, "aria-hidden": "true" });
    const paint = context(canvas);
    const most = Math.max(...bins, 1);
    bins.forEach((count, i) => {
      if (!count) return;
      paint.fillStyle = `rgb(224 90 60 / ${0.25 + (0.75 * count) / most})`;
      paint.fillRect(i, 0, 1, 1);
    });
    const done = here.filter(([, , finished]) => finished).length;
    return h(
      "div",
      { class: "heat-row" },
      h("span", { title: level }, levelOf(level)),
      canvas,
      h("output", { title: "that finished" }, `${short(done)} of ${short(here.length)}`),
    );
  });
}
