/** One run in full: where it is on each level, how its config differs, and what can be done with it. */

import { button, h } from "../views/dom";
import { ask, queryOf, type About as Answer, type Differences } from "./api";
import { heatMap } from "./heat";
import { count, levelOf } from "./text";

/** The game that the page itself plays, as levels begin. */
const GAME = "BrambleDash-Genesis-v0:";

export class About {
  /** It stays while the rest is renewed, so that it keeps the focus. */
  private readonly title = h("h2", { tabindex: -1 });
  readonly root = h("section", { class: "about", hidden: true });
  /** Whether the run that is shown next is scrolled to: it is far below the rows. */
  reveal = false;
  private shown = "";
  private asked = 0;

  constructor(private readonly fail: (error: Error) => void) {}

  async show(run: string, chosen: string[]): Promise<void> {
    const turn = ++this.asked;
    this.root.hidden = !run;
    if (!run) return;
    try {
      const beside = [...new Set([run, ...chosen])];
      const [about, differences] = await Promise.all([
        ask<Answer>("run", { run }),
        ask<Differences>("configs", { run: beside }),
      ]);
      if (turn !== this.asked) return;
      const key = JSON.stringify([run, chosen, about.checkpoints]);
      const [heat, commands, config] = [
        this.heat(about),
        this.commands(about),
        configs(differences, beside.length > 1),
      ];
      const top = this.root.querySelector(".heat-rows")?.scrollTop ?? 0;
      if (this.shown === key) {
        this.root.children[1]?.replaceWith(heat);
        heat.querySelector(".heat-rows")?.scrollTo(0, top);
      } else this.root.replaceChildren(this.title, heat, commands, config);
      this.shown = key;
      this.title.textContent = run;
      if (!this.reveal) return;
      this.reveal = false;
      this.title.focus({ preventScroll: true });
      this.title.scrollIntoView();
    } catch (error) {
      if (turn !== this.asked) return;
      this.root.hidden = true;
      this.shown = "";
      this.fail(error as Error);
    }
  }

  private heat({ heat, error }: Answer): HTMLElement {
    return h(
      "section",
      { class: "box" },
      h("h2", {}, "Return on each level over time"),
      error ? h("p", { class: "flaw" }, error) : heatMap(heat),
    );
  }

  private commands(about: Answer): HTMLElement {
    return h(
      "section",
      { class: "box commands" },
      h("h2", {}, "Commands"),
      ...Object.entries(about.commands).map(([what, command]) => copied(what, command)),
      ...watched(about),
      h(
        "p",
        { class: "line links" },
        h("a", { href: `#/episodes?${queryOf({ run: about.name })}` }, "Its episodes"),
      ),
    );
  }
}

/** Links to games of a run's checkpoints. */
function watched({ name, checkpoints, level }: Answer): HTMLElement[] {
  const links = checkpoints.slice(-8).map((step) => {
    const id = `${name}@${step}`;
    const here = level.startsWith(GAME);
    const href = here
      ? `#/watch?${queryOf({ players: encodeURIComponent(id), act: levelOf(level) })}`
      : `#/live?${queryOf({ agent: id, other: "", level, seed: "0" })}`;
    return h("a", { href }, `${count(Number(step.slice("step-".length)))} steps`);
  });
  return links.length ? [h("p", { class: "line links" }, "Watch it after", ...links)] : [];
}

/** A command with a button that copies it. */
export function copied(what: string, command: string): HTMLElement {
  const field = h("input", { readonly: true, value: command, "aria-label": what });
  const copy = button("Copy", () => {
    field.select();
    void navigator.clipboard?.writeText(command).then(() => (copy.textContent = "Copied"));
  });
  return h("div", { class: "command" }, h("span", {}, what), field, copy);
}

/** compares: whether several runs were asked for. */
function configs({ runs, rows, errors }: Differences, compares: boolean): HTMLElement {
  const head = h("tr", {}, h("th", {}, ""), ...runs.map((run) => h("th", { scope: "col" }, run)));
  const table = h(
    "table",
    {},
    h("thead", {}, head),
    h(
      "tbody",
      {},
      ...rows.map(({ name, values }) =>
        h("tr", {}, h("th", { scope: "row" }, name), ...values.map((value) => h("td", {}, value))),
      ),
    ),
  );
  const title = compares ? "How the configs differ" : "Config";
  const nothing = h("p", { class: "line" }, "They do not differ.");
  return h(
    "section",
    { class: "box configs" },
    runs.length > Number(compares) &&
      h("details", {}, h("summary", {}, title), rows.length ? table : nothing),
    ...errors.map((error) => h("p", { class: "flaw" }, error)),
  );
}
