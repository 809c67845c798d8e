/** The public page within the studio, where every checkpoint's net can play too. */

import { App } from "../app";
import { World } from "../game/world";
import { Cast } from "../players/cast";
import { h, points } from "../views/dom";
import { ask, fetchPlayer, fetchRecording, type Agent } from "./api";
import { jerk, recording } from "./scripts";
import type { View } from "./view";

/** A player's id, which a list in an address may hold. */
const playerOf = (agent: string) => encodeURIComponent(agent);
/** The agent of a player's id; "" if the address is damaged. */
function agentOf(player: string): string {
  try {
    return decodeURIComponent(player);
  } catch {
    return "";
  }
}

/** RUN@step-000008000 as RUN after 8,000 steps, RUN@FOLDER/FILE.bk2 as RUN: FILE. */
function nameOf(agent: string): string {
  const [, run, step] = /^(.*)@step-(\d+)/.exec(agent) ?? [];
  if (run) return `${run} after ${points(Number(step))} steps`;
  const [, owner, file] = /^(.*)@(?:.*\/)?(.*)\.bk2$/.exec(agent) ?? [];
  return owner ? `${owner}: ${file}` : agent;
}

async function load(agent: string) {
  if (agent.endsWith(".bk2")) return recording(await fetchRecording(agent));
  const { data, isJson } = await fetchPlayer(agent);
  return isJson ? jerk(data) : data;
}

const WHERE =
  "These games run in this browser. Those of Procgen, and console games in the emulator, are under Live.";

export class Watch implements View {
  readonly root = h(
    "div",
    { class: "watch" },
    h("main", {}, h("p", { class: "line" }, "Loading…")),
  );
  /** What the public page says of each view, and where its games run. */
  private readonly lead = h("div", { class: "lead" }, h("p", { class: "lede" }, WHERE));
  private readonly cast = new Cast();
  private app: App | null = null;
  /** Whether its game runs. */
  private plays = false;
  private paused = false;
  /** Agents of runs that the cast has, and those that the newest listing named. */
  private readonly offers: string[] = [];
  private listed: string[] = [];
  private coming: Promise<void> | null = null;

  show(query: URLSearchParams): void {
    const { hash } = location;
    this.coming ??= this.load();
    void this.coming.then(
      () => {
        if (location.hash !== hash) return; // another was asked for meanwhile
        for (const id of query.get("players")?.split(",") ?? []) this.offer(agentOf(id));
        if (!this.plays) this.app!.clock.paused = this.paused;
        this.plays = true;
        if (!query.has("file")) return this.app!.follow();
        return this.replay(query, hash).catch(async (error: Error) => {
          await this.app!.follow(); // the game before may be of a net that has ended
          this.app!.say(error.message);
        });
      },
      (error: Error) => {
        this.coming = null;
        this.root.replaceChildren(h("main", {}, h("p", { class: "notice" }, error.message)));
      },
    );
  }

  hide(): void {
    if (!this.app) return;
    this.coming = null; // its agents may be others by then
    if (!this.plays) return;
    this.plays = false;
    this.app.leave();
    this.paused = this.app.clock.paused;
    this.app.clock.paused = true;
  }

  /** Play a run's recording again, unless the address is another by the time that it is there. */
  private async replay(query: URLSearchParams, hash: string): Promise<void> {
    const file = query.get("file")!;
    const coming = fetchRecording(`${query.get("run") ?? ""}@${file}`);
    const bytes = await coming.catch((error: Error) => {
      if (location.hash === hash) throw error;
    });
    if (!bytes || location.hash !== hash) return;
    history.replaceState(null, "", "#/watch"); // from where Back would lead here again
    await this.app!.take(new File([bytes], file));
  }

  private offer(agent: string): void {
    if (!agent.includes("@") || this.offers.includes(agent)) return;
    this.offers.push(agent);
    this.cast.offer(playerOf(agent), nameOf(agent), () => load(agent));
  }

  private async load(): Promise<void> {
    const agents = (await ask<Agent[]>("agents")).filter(
      ({ levels }) => !/^procgen:/i.test(levels),
    );
    // A run may have been made anew under its name: nothing that was loaded before plays again.
    const before = this.offers.splice(0);
    for (const agent of before) this.cast.forget(playerOf(agent));
    const named = before.filter((agent) => !this.listed.includes(agent)); // by addresses
    this.listed = agents.map(({ id }) => id);
    for (const agent of [...this.listed, ...named]) this.offer(agent);
    if (!this.app) {
      this.app = new App(await World.fetch(), this.cast);
      this.app.acceptFiles();
      this.lead.prepend(this.app.roots[0].querySelector(".lede")!);
    }
    this.root.replaceChildren(this.lead, this.app.roots[1]);
  }
}
