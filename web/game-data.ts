/** What the page knows of the acts beside the pack, read from the repository when it is built. */

import { readdirSync, readFileSync } from "node:fs";
import type { Plugin } from "vite";
import { parse } from "yaml";

const root = new URL("../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");
const GAME = "cartridge/integration/BrambleDash-Genesis-v0/";

const rows = (path: string) =>
  read(path)
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => line.split(","));

/** Act -> player -> [mean return, furthest progress]. */
function references(): Record<string, Record<string, [number, number]>> {
  const found: Record<string, Record<string, [number, number]>> = {};
  for (const [level, agent, , mean, progress] of rows(
    "retro_agents/games/retro/data/references.csv",
  ))
    (found[level] ??= {})[agent] = [Number(mean), Number(progress)];
  return found;
}

/** Act -> CRC-32 of the console's memory at its start, which gzip writes behind the data. */
function states(): Record<string, number> {
  const names = readdirSync(new URL(GAME, root)).filter((name) => name.endsWith(".state"));
  return Object.fromEntries(
    names.map((name) => {
      const file = readFileSync(new URL(GAME + name, root));
      return [name.slice(0, -".state".length), file.readUInt32LE(file.length - 8)];
    }),
  );
}

/** Act -> the oracle's actions, as runs of letters. */
function proofs(): Record<string, string> {
  const folder = "cartridge/levels/proofs/";
  const found = readdirSync(new URL(folder, root)).map((name) => JSON.parse(read(folder + name)));
  return Object.fromEntries(found.map(({ level, actions }) => [level, actions]));
}

const MODULES: Record<string, () => unknown> = {
  "virtual:acts": () => ({
    unseen: rows("retro_agents/games/retro/splits/bramble-test.csv").map(([, state]) => state),
    references: references(),
    states: states(),
  }),
  "virtual:proofs": proofs,
  "virtual:scripts": () => parse(read("jerk/scripts/seven-buttons.yaml")),
};

export function gameData(): Plugin {
  return {
    name: "game-data",
    resolveId: (id) => (id in MODULES ? `\0${id}` : undefined),
    load: (id) => {
      const make = MODULES[id.slice(1)];
      return id.startsWith("\0") && make ? `export default ${JSON.stringify(make())}` : undefined;
    },
  };
}
