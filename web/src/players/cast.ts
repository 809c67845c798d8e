/** Everybody who can play: the shipped agents, fixed players, and nets that were dropped. */

import ppo2Url from "../../agents/ppo2.onnx?url";
import rainbowUrl from "../../agents/rainbow.onnx?url";
import { fetched, LOST } from "../engine/engine";
import type { Act } from "../game/world";
import { Brain } from "../nets/brain";
import type { Facts } from "../nets/net";
import { PLAYS } from "./policy";
import { actionsOf, NetPlayer, RandomPlayer, RunAndJump, Sequence, type Player } from "./players";

const NETS = import.meta.glob<string>("../../agents/*.onnx", {
  query: "?url",
  import: "default",
  eager: true,
});
type Image = { height: number; width: number; depth: number; colours: number };

/** Somebody who plays without a net. frames: after which the episode ends; 0: as the rules say. */
export interface Script {
  frames: number;
  /** The player on an act. Throws a sentence for the page if there is none. */
  on(act: Act, name: string): Player;
}

type Load = () => Promise<ArrayBuffer | Script>;
/** Sides of the largest image that the game is drawn as. */
const LARGEST = 224;

export class Cast {
  private readonly brains = new Map<string, Promise<Brain>>();
  private readonly meetings = new Map<string, Promise<void>>();
  private readonly scripts = new Map<string, Script>();
  private readonly images = new Map<string, Image>();
  private readonly loads = new Map<string, Load>([
    ["ppo2", () => fetched(ppo2Url)],
    ["rainbow", () => fetched(rainbowUrl)],
  ]);
  private readonly offered = new Set<string>();
  /** Nets that were added from files so far. */
  private files = 0;
  /** Name of each player by its id, in the order of the menu. */
  readonly names = new Map<string, string>([
    ["ppo2", "PPO2"],
    ["rainbow", "Rainbow"],
    ["jerk", "JERK"],
    ["oracle", "Oracle"],
    ["run-and-jump", "Run and jump"],
    ["random", "Random"],
  ]);
  /** Act -> the actions that JERK learned on it on this page. */
  readonly learned = new Map<string, number[]>();

  /** Further nets that the page was built with are offered by their files' names. */
  constructor() {
    for (const [path, url] of Object.entries(NETS)) {
      const name = path.slice(path.lastIndexOf("/") + 1, -".onnx".length);
      if (!this.names.has(name)) this.offer(encodeURIComponent(name), name, () => fetched(url));
    }
  }

  private brain(id: string, file?: ReturnType<Load>): Promise<Brain> {
    let found = this.brains.get(id);
    if (!found) {
      found = (file ?? this.loads.get(id)!()).then((net) =>
        Brain.load(new Uint8Array(net as ArrayBuffer)),
      );
      const mine = found;
      // The next try may go well.
      mine.catch(() => this.brains.get(id) === mine && this.brains.delete(id));
      this.brains.set(id, found);
    }
    return found;
  }

  /** Offer a net or a script that is loaded when it is first asked for. */
  offer(id: string, name: string, load: Load): void {
    this.names.set(id, name);
    this.loads.set(id, load);
    this.offered.add(id);
  }

  /** Take back what was offered, and end its net: the same id may be offered for another one. */
  forget(id: string): void {
    this.brains.get(id)?.then(
      (brain) => brain.end(),
      () => {}, // it has ended
    );
    const { brains, meetings, scripts, images, loads, names } = this;
    for (const known of [brains, meetings, scripts, images, loads, names]) known.delete(id);
    this.offered.delete(id);
  }

  /** Load those of these players that were offered; null if there is nothing to wait for. Throws a
   * sentence for the page if one cannot play. */
  ready(ids: string[]): Promise<unknown> | null {
    const missing = ids.filter(
      (id) => this.offered.has(id) && !this.images.has(id) && !this.scripts.has(id),
    );
    return missing.length ? Promise.all(missing.map((id) => this.meet(id))) : null;
  }

  /** Load one that was offered: once, however often it is asked for meanwhile. */
  private meet(id: string): Promise<void> {
    let found = this.meetings.get(id);
    if (!found) {
      found = this.load(id);
      const mine = found;
      const end = () => this.meetings.get(id) === mine && this.meetings.delete(id);
      mine.then(end, end);
      this.meetings.set(id, found);
    }
    return found;
  }

  private async load(id: string): Promise<void> {
    const load = this.loads.get(id);
    if (!load) return; // it was forgotten, which `player` says
    const isOffered = () => this.loads.get(id) === load;
    const found = this.brains.has(id) ? null : await load();
    if (!isOffered()) return this.meet(id);
    if (found && !(found instanceof ArrayBuffer)) {
      this.scripts.set(id, found);
      return;
    }
    const brain = await this.brain(id, Promise.resolve(found!));
    if (!isOffered()) return this.meet(id);
    this.fit(id, brain);
  }

  /** Frames after which a player's episode ends; 0: as the rules say. */
  frames(id: string): number {
    return this.scripts.get(id)?.frames ?? 0;
  }

  /** Remember what a net sees. */
  private fit(id: string, brain: Brain): void {
    const flaw = flawOf(brain.facts);
    if (flaw) throw new Error(flaw);
    const [depth, height, width] = brain.facts.image;
    const colours = brain.facts.channels;
    this.images.set(id, { height, width, depth: depth / colours, colours });
  }

  /** Add a net from a file. Returns its id; throws a sentence for the page if it cannot play. */
  async add(file: Uint8Array, name: string): Promise<string> {
    const brain = await Brain.load(file);
    const id = `file-${this.files++}`;
    try {
      this.fit(id, brain);
    } catch (error) {
      brain.end();
      throw error;
    }
    this.brains.set(id, Promise.resolve(brain));
    this.names.set(id, `${brain.facts.agent} (${name})`);
    return id;
  }

  /** Why a player cannot play an act, in a few words; "" if there is no reason. */
  lacks(id: string, act: Act): string {
    if (id === "jerk" && !this.learned.has(act.id)) return "Learn this act first";
    return id === "oracle" && act.kind === "new" ? "not on new acts" : "";
  }

  /** What the engine must draw for a player. */
  image(id: string): Image {
    return this.images.get(id) ?? { height: 84, width: 84, depth: 4, colours: 1 };
  }

  /** A player on an act. Throws a sentence for the page if there is none. */
  async player(id: string, act: Act, seed: number): Promise<Player> {
    await this.ready([id]);
    const name = this.names.get(id);
    if (!name)
      throw new Error(
        "The player in this link is not here: drop its .onnx file, or choose another.",
      );
    const script = this.scripts.get(id);
    if (script) return script.on(act, name);
    if (id === "random") return new RandomPlayer(seed);
    if (id === "run-and-jump") return new RunAndJump();
    if (id === "oracle") return new Sequence(name, await proof(act));
    if (id === "jerk") {
      const actions = this.learned.get(act.id);
      if (!actions)
        throw new Error(
          "JERK has not learned this act here: the page's Learn lets it search for some seconds.",
        );
      return new Sequence("JERK", actions);
    }
    const brain = await this.brain(id);
    const flaw = flawOf(brain.facts);
    if (flaw) throw new Error(flaw);
    return new NetPlayer(name, brain, seed);
  }
}

async function proof(act: Act): Promise<number[]> {
  if (act.kind === "new")
    throw new Error("The oracle has played the game's own acts only: choose another player.");
  const { default: proofs } = await import("virtual:proofs").catch(() => {
    throw new Error(LOST);
  });
  return actionsOf(proofs[act.name]);
}

function flawOf({ image, channels, frameSkip, actions, play }: Facts): string {
  const [depth, height, width] = image;
  if (frameSkip !== 4)
    return `This net decides every ${frameSkip} frames, and the page every 4: drop another net.`;
  if (Math.max(height, width) > LARGEST || depth % channels || ![1, 3].includes(channels))
    return `This net sees images of ${width} by ${height} pixels, and the page draws ${LARGEST} at most: drop another net.`;
  if (!PLAYS.test(play))
    return `This net plays in a way that the page lacks (${play}): export it anew.`;
  const unknown = actions.find((name) => !/^((UP|DOWN|LEFT|RIGHT|B)( |$))*$/.test(name));
  return unknown === undefined
    ? ""
    : `This net presses ${unknown}, which this game lacks: drop another net.`;
}
