/** One run in full: where it is on each level, how its config differs, and what can be done with it. */

import { button, h } from "../views/dom";
import { ask, queryOf, type About as Answer, type Differences } from "./api";
import { heatMap } from "./heat";
import { count, levelOf } from "./text";

/** The game that the page itself plays, as levels begin. */
const GAME = "BrambleDash-Genesis-v0:";

export class About {
  readonly root = h("section", { class: "about", hidden: true });
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
        configs(differences),
      ];
      const top = this.root.querySelector(".heat-rows")?.scrollTop ?? 0;
      if (this.shown === key) {
        this.root.children[0]?.replaceWith(heat);
        heat.querySelector(".heat-rows")?.scrollTo(0, top);
      } else this.root.replaceChildren(heat, commands, config);
      this.shown = key;
    } catch (error) {
      if (turn !== this.asked) return;
      this.root.hidden = true;
      this.shown = "";
      this.fail(error as Error);
    }
  }

  private heat({ name, heat, error }: Answer): HTMLElement {
    return h(
      "section",
      { class: "box" },
      h("h2", {}, `Return on each level over time: ${name}`),
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

function configs({ runs, rows, errors }: Differences): HTMLElement {
  const alone = runs.length === 1;
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
  const title = alone ? "Config" : "How the configs differ";
  const nothing = h("p", { class: "line" }, "They do not differ.");
  return h(
    "section",
    { class: "box configs" },
    h("details", { open: !alone }, h("summary", {}, title), rows.length ? table : nothing),
    ...errors.map((error) => h("p", { class: "flaw" }, error)),
  );
}
