import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { GAME, LINE, SEEN, SETTINGS } from "../src/engine/layout";

const SIZES: Record<string, number> = { u8: 1, u16: 2, s16: 2, u32: 4, s32: 4, u64: 8, double: 8 };
const source = (path: string) =>
  readFileSync(new URL(`../../cartridge/${path}`, import.meta.url), "utf8");

/** Offsets of a C struct's fields, as a compiler for wasm32 lays them out. */
function offsets(file: string, name: string): Record<string, number> {
  const text = source(file).replace(/\/\*[^]*?\*\//g, "");
  const body = new RegExp(`typedef struct \\{([^}]*)\\} ${name};`).exec(text)![1]!;
  const found: Record<string, number> = {};
  let at = 0;
  for (const declaration of body.split(";")) {
    const [, type, names] = /^\s*(\w+)\s+([^]*)$/.exec(declaration) ?? [];
    for (const one of names?.split(",") ?? []) {
      const [, star, field, count] = /^\s*(\*?)(\w+)(?:\[(\d+)\])?/.exec(one)!;
      const size = star ? 4 : (SIZES[type!] ?? 4);
      at = Math.ceil(at / size) * size;
      found[field!] = at;
      at += size * Number(count ?? 1);
    }
  }
  return found;
}

test.each([
  ["host/games.c", "Settings", SETTINGS],
  ["host/games.c", "Game", GAME],
  ["host/games.c", "Line", LINE],
])("the layout of %s %s is the engine's", (file, name, ours) => {
  expect(ours).toEqual(offsets(file, name));
});

test("a line's `seen` has as many words as the engine writes", () => {
  expect(source("host/games.c")).toContain(`seen[${SEEN.length}]`);
});
