/** Forms that start a run or a contest, and show the command that they stand for. */

import { button, choice, h } from "../views/dom";
import { copied } from "./about";
import { ask, tell, type Agent, type Choices } from "./api";

/** Of the minute in which the form is opened. */
const now = () => new Date().toISOString().slice(0, 16).replace(/[T:]/g, "-");

abstract class Form {
  protected readonly fields = h("div", { class: "fields" });
  private readonly said = h("div", {});
  private readonly flaw = h("p", { class: "flaw", role: "status", hidden: true });
  readonly root: HTMLDetailsElement;
  private asked = 0;
  private filled = false;

  constructor(
    title: string,
    protected readonly wanted: Record<string, string>,
    private readonly begun: (name: string) => void,
  ) {
    this.root = h(
      "details",
      { class: "box start" },
      h("summary", {}, title),
      this.fields,
      this.said,
      this.flaw,
    );
    this.root.addEventListener("toggle", () => void this.open());
  }

  protected abstract make(): Promise<HTMLElement[]>;

  private async open(): Promise<void> {
    if (this.filled || !this.root.open) return;
    this.filled = true;
    this.filled = await this.fill();
  }

  /** Make the fields. Returns whether it could. */
  protected async fill(): Promise<boolean> {
    const start = button("Start", () => void this.start(), { class: "main" });
    try {
      const made = await this.make();
      const focus = this.fields.contains(document.activeElement)
        ? document.activeElement!.getAttribute("data-key")
        : null;
      this.fields.replaceChildren(...made, start);
      if (focus) this.fields.querySelector<HTMLElement>(`[data-key="${focus}"]`)?.focus();
      void this.preview();
      return true;
    } catch (error) {
      this.fail((error as Error).message);
      return false;
    }
  }

  protected text(name: string, label: string, props: Record<string, string> = {}): HTMLElement {
    const field = h("input", {
      type: "text",
      value: this.wanted[name],
      ...props,
      oninput: () => this.set(name, field.value),
    });
    return h("label", { class: `field ${name}` }, h("span", {}, label), field);
  }

  protected set(name: string, value: string): void {
    this.wanted[name] = value;
    void this.preview();
  }

  private fail(text: string): void {
    this.flaw.hidden = !text;
    this.flaw.textContent = text;
  }

  private async preview(): Promise<void> {
    const turn = ++this.asked;
    await new Promise((wait) => setTimeout(wait, 200));
    if (turn !== this.asked) return;
    try {
      const found = await tell<{ command: string; flaw?: string }>("command", this.wanted);
      if (turn !== this.asked) return;
      this.said.replaceChildren(...(found.command ? [copied("The same as", found.command)] : []));
      this.fail(found.flaw ?? "");
    } catch (error) {
      this.fail((error as Error).message);
    }
  }

  private async start(): Promise<void> {
    try {
      await tell("start", this.wanted);
      this.fail("");
      this.root.open = false;
      this.filled = false;
      this.begun(this.wanted.name);
      this.wanted.name = "";
    } catch (error) {
      this.fail((error as Error).message);
    }
  }
}

const listed = (id: string, values: string[]) =>
  h("datalist", { id }, ...values.map((value) => h("option", { value })));
const pairs = (values: string[]) => values.map((value): [string, string] => [value, value]);

/** Starts a run. */
export class StartRun extends Form {
  /** The name that the form made, which another agent renews; not one that was typed. */
  private made = "";
  /** The agent whose preset was chosen. */
  private of = "";

  constructor(begun: (name: string) => void) {
    const wanted = { type: "run", agent: "ppo2", preset: "", levels: "bramble-train" };
    const rest = { timesteps: "40000", seed: "0", name: "", flags: "" };
    super("Start a run", { ...wanted, ...rest }, begun);
  }

  protected async make(): Promise<HTMLElement[]> {
    const { agents, splits } = await ask<Choices>("choices");
    const { agent, name } = this.wanted;
    if (!name || name === this.made) this.wanted.name = this.made = `${agent}-${now()}`;
    const agentField = choice("Agent", pairs(Object.keys(agents)), agent, (value) => {
      this.wanted.preset = "";
      this.set("agent", value);
      void this.fill();
    });
    const { presets } = agents[agent];
    if (this.of !== agent) this.wanted.preset = presets.includes("fast") ? "fast" : "";
    this.of = agent;
    return [
      agentField,
      choice("Preset", [["", "none"], ...pairs(presets)], this.wanted.preset, (value) =>
        this.set("preset", value),
      ),
      this.text("levels", "Levels", { list: "splits" }),
      this.text("timesteps", "Agent steps"),
      this.text("seed", "Seed"),
      this.text("name", "Name"),
      this.text("flags", "Further flags", { placeholder: "--num-envs 8" }),
      listed("splits", splits),
    ];
  }
}

/** Starts a contest. */
export class StartContest extends Form {
  constructor(begun: (name: string) => void) {
    const wanted = { type: "contest", agent: "ppo2", mode: "adapt", levels: "bramble-test" };
    super("Start a contest", { ...wanted, timesteps: "1000000", seeds: "3", name: "" }, begun);
  }

  protected async make(): Promise<HTMLElement[]> {
    const [agents, { splits }] = await Promise.all([
      ask<Agent[]>("agents"),
      ask<Choices>("choices"),
    ]);
    this.wanted.name = `contest-${now()}`;
    const modes: [string, string][] = [
      ["adapt", "it keeps learning"],
      ["frozen", "it does not learn"],
    ];
    return [
      this.text("agent", "Agent", { list: "contestants" }),
      choice("While it plays", modes, this.wanted.mode, (value) => this.set("mode", value)),
      this.text("levels", "Levels", { list: "contest-splits" }),
      this.text("timesteps", "Agent steps"),
      this.text("seeds", "Seeds"),
      this.text("name", "Name"),
      listed("contest-splits", splits),
      listed(
        "contestants",
        agents.map(({ id }) => id),
      ),
    ];
  }
}
