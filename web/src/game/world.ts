/** All that is fetched before the first picture: the game's code and its acts. */

import codeUrl from "../../../cartridge/integration/BrambleDash-Genesis-v0/bramble.wasm?url";
import packUrl from "../../../cartridge/integration/BrambleDash-Genesis-v0/game.pack?url";
import data from "virtual:acts";
import { compile, Engine, fetched, gunzip, type Options } from "../engine/engine";
import { Pack } from "../engine/pack";

const fresh = import.meta.glob<string>("../../acts/*.pack", {
  query: "?url",
  import: "default",
  eager: true,
});
/** Seed of the level generator -> the address of its acts. */
const FRESH = new Map(
  Object.entries(fresh).map(([path, url]) => [/(\d+)\.pack$/.exec(path)![1], url]),
);
export const SEEDS = [...FRESH.keys()];

export const GAME = "BrambleDash-Genesis-v0";

/** Fetch what is packed. Some servers unpack it: it then arrives as it is. */
export async function fetchUnpacked(url: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(await fetched(url));
  return bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzip(bytes) : bytes;
}

/** Where an act is: which packs to load, and its number in them. */
export interface Act {
  /** Such as BrambleWood.Act1; of generated acts with the seed before it: 7/BrambleWood.Act1. */
  id: string;
  name: string;
  number: number;
  pack: Pack;
  /** The pack with the art. */
  art: Pack;
  /** Packs to load, the art first. */
  packs: Uint8Array[];
  kind: "training" | "never seen" | "new";
  zone: string;
}

export class World {
  readonly acts = new Map<string, Act>();

  private constructor(
    private readonly code: WebAssembly.Module,
    readonly codeBytes: ArrayBuffer,
    readonly base: Uint8Array,
  ) {
    this.add(base, "");
  }

  static async fetch(): Promise<World> {
    const [code, pack] = await Promise.all([fetched(codeUrl), fetchUnpacked(packUrl)]);
    return new World(await compile(code), code, pack);
  }

  /** Fetch the acts of a seed; none if it has none. */
  async fetchSeed(seed: string): Promise<Act[]> {
    const url = FRESH.get(seed);
    return url ? this.add(await fetchUnpacked(url), seed) : [];
  }

  /** Add a pack's acts. seed: of generated acts, or "". */
  add(bytes: Uint8Array, seed: string): Act[] {
    const pack = new Pack(bytes);
    const art = seed ? new Pack(this.base) : pack;
    const found = pack.names.map((name, number): Act => {
      const kind = seed ? "new" : data.unseen.includes(name) ? "never seen" : "training";
      const id = seed ? `${seed}/${name}` : name;
      const packs = seed ? [this.base, bytes] : [bytes];
      const offset = seed ? art.names.length : 0;
      return {
        id,
        name,
        number: number + offset,
        pack,
        art,
        packs,
        kind,
        zone: name.split(".")[0],
      };
    });
    for (const act of found) this.acts.set(act.id, act);
    return found;
  }

  engine(act: Act, options: Options): Engine {
    return new Engine(this.code, act.packs, options);
  }
}

/** BrambleWood.Act1 as a title: Bramble Wood 1. */
export function titleOf(act: Act): string {
  const zone = act.zone.replace(/([a-z])([A-Z])/g, "$1 $2");
  return `${zone} ${act.name.split("Act")[1]}`;
}

/** Another player's mean return and furthest progress on an act, if known. */
export function reference(act: Act, player: string): [number, number] | null {
  return act.kind === "new" ? null : (data.references[act.name]?.[player] ?? null);
}

/** CRC-32 of the console's memory at the start of each act. */
export const STATES = data.states;
