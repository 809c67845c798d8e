/** A form that starts a run, and shows the command that it stands for. */

import { button, choice, h } from "../views/dom";
import { ask, tell, type Choices } from "./api";
import { copied } from "./about";

export class Start {
  private readonly form = h("div", { class: "fields" });
  private readonly said = h("div", {});
  private readonly flaw = h("p", { class: "flaw", role: "status", hidden: true });
  readonly root = h(
    "details",
    { class: "box start" },
    h("summary", {}, "Start a run"),
    this.form,
    this.said,
    this.flaw,
  );
  private readonly wanted: Record<string, string> = {
    agent: "ppo2",
    preset: "",
    levels: "bramble-train",
    timesteps: "1000000",
    seed: "0",
    name: "",
    flags: "",
  };
  private choices: Choices | null = null;
  private asked = 0;

  constructor(private readonly begun: (run: string) => void) {
    this.root.addEventListener("toggle", () => void this.open());
  }

  private async open(): Promise<void> {
    if (this.choices || !this.root.open) return;
    this.choices = await ask<Choices>("choices");
    this.wanted.name = `${this.wanted.agent}-${new Date().toISOString().slice(0, 16).replace(/[T:]/g, "-")}`;
    this.fields();
    void this.preview();
  }

  private fields(): void {
    const { agents, splits } = this.choices!;
    const presets = agents[this.wanted.agent]?.presets ?? [];
    const agent = choice(
      "Agent",
      Object.keys(agents).map((name) => [name, name]),
      this.wanted.agent,
      (value) => {
        this.wanted.name = this.wanted.name.replace(this.wanted.agent, value);
        this.set("agent", value);
        this.wanted.preset = "";
        this.fields();
      },
    );
    const preset = choice(
      "Preset",
      [["", "none"], ...presets.map((name): [string, string] => [name, name])],
      this.wanted.preset,
      (value) => this.set("preset", value),
    );
    const known = h(
      "datalist",
      { id: "splits" },
      ...splits.map((name) => h("option", { value: name })),
    );
    this.form.replaceChildren(
      agent,
      preset,
      this.text("levels", "Levels", { list: "splits" }),
      this.text("timesteps", "Agent steps"),
      this.text("seed", "Seed"),
      this.text("name", "Name"),
      this.text("flags", "Further flags", { placeholder: "--num-envs 8" }),
      button("Start", () => void this.start(), { class: "main" }),
      known,
    );
  }

  private text(name: string, label: string, props: Record<string, string> = {}): HTMLElement {
    const field = h("input", {
      type: "text",
      value: this.wanted[name],
      ...props,
      oninput: () => this.set(name, field.value),
    });
    return h("label", { class: `field ${name}` }, h("span", {}, label), field);
  }

  private set(name: string, value: string): void {
    this.wanted[name] = value;
    void this.preview();
  }

  private fail(error: Error | null): void {
    this.flaw.hidden = !error;
    this.flaw.textContent = error?.message ?? "";
  }

  private async preview(): Promise<void> {
    const turn = ++this.asked;
    await new Promise((wait) => setTimeout(wait, 200));
    if (turn !== this.asked) return;
    try {
      const { command, flaw } = await tell<{ command: string; flaw?: string }>(
        "command",
        this.wanted,
      );
      if (turn !== this.asked) return;
      this.said.replaceChildren(...(command ? [copied("The same as", command)] : []));
      this.fail(flaw ? new Error(flaw) : null);
    } catch (error) {
      this.said.replaceChildren();
      this.fail(error as Error);
    }
  }

  private async start(): Promise<void> {
    try {
      await tell("start", this.wanted);
      this.fail(null);
      this.root.open = false;
      this.choices = null;
      this.begun(this.wanted.name);
    } catch (error) {
      this.fail(error as Error);
    }
  }
}
