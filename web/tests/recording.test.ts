import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { Pack } from "../src/engine/pack";
import { crc32 } from "../src/game/crc";
import { Episode } from "../src/game/episode";
import { format, parse } from "../src/game/link";
import { readRecording, written } from "../src/game/recording";
import { CONTEST, FREE, STEADY } from "../src/game/rules";
import { deflate, pack, unpack } from "../src/game/share";
import { unzip, zip } from "../src/game/zip";
import { engine, PACK } from "./files";
import facts from "./recording.json";

const file = new Uint8Array(readFileSync(new URL("./recording.bk2", import.meta.url)));
const content = async (bytes: Uint8Array, name: string) =>
  unzip(bytes)
    .find((entry) => entry.name === name)!
    .read();

test("a recording made in Python plays to the same return", async () => {
  const { act, pads } = await readRecording(file);
  const episode = new Episode(engine(), new Pack(PACK).names.indexOf(act), FREE, 0);
  for (const pad of pads) episode.step(pad);
  expect({ act, return: episode.total, frames: pads.length }).toEqual(facts);
});

test("a recording is written as Python writes it", async () => {
  const { pads } = await readRecording(file);
  const ours = await written(pads, await content(file, "Core.bin"));
  const bytes = new Uint8Array(await ours.arrayBuffer());
  for (const name of ["Input Log.txt", "Header.txt", "Core.bin"])
    expect(crc32(await content(bytes, name))).toBe(crc32(await content(file, name)));
});

const text = (content: string) => new TextEncoder().encode(content);
/** The engine's pads of one jump button and of two. */
const [ONE, TWO] = [16, 48];
test("a jump button that is pressed while another is held jumps again", async () => {
  const presses: [string, number, number][] = [
    ["A", 80, ONE],
    ["AB", 20, TWO],
    ["A", 2, ONE],
  ];
  const frames = presses.flatMap(([held, count, pad]) => new Array(count).fill([held, pad]));
  const bytes = await zip({
    "Header.txt": text("GameName BrambleDash-Genesis-v0\n"),
    "Input Log.txt": text(["|..|.|", ...frames.map(([held]) => `|..|${held}|`)].join("\n")),
    "Core.bin": await content(file, "Core.bin"),
  });
  const { act, pads } = await readRecording(new Uint8Array(await bytes.arrayBuffer()));
  const end = (played: number[]) => {
    const game = engine();
    game.start(new Pack(PACK).names.indexOf(act));
    game.play(played);
    return game.see();
  };
  expect(end(await unpack(await pack(pads)))).toEqual(end(frames.map(([, pad]) => pad)));
});

test.each([
  [
    "of another game",
    async () => zip({ "Header.txt": text("GameName Sonic\n") }),
    /^This recording is of Sonic: drop /,
  ],
  [
    "of no act",
    async () =>
      zip({ "Header.txt": text("GameName BrambleDash-Genesis-v0\n"), "Core.bin": text("?") }),
    /begins at none of the acts/,
  ],
  ["no archive", async () => new Blob(["nothing"]), /^This is no whole recording: drop /],
  ["cut off", async () => new Blob([file.slice(0, 9000)]), /^This is no whole recording: drop /],
])("a recording that is %s is refused in one sentence", async (_, make, said) => {
  await expect(readRecording(new Uint8Array(await (await make()).arrayBuffer()))).rejects.toThrow(
    said,
  );
});

test("best times under different rules are kept apart", () => {
  expect(new Set([CONTEST, STEADY, FREE].map(({ name }) => name)).size).toBe(3);
});

test("a link holds an episode of up to an hour", async () => {
  const pads = Array.from({ length: 60 * 60 * 60 }, (_, i) => (i * i * 7) % 31);
  expect(await unpack(await pack(pads))).toEqual(pads);
  expect((await pack(new Array(18_000).fill(8))).length).toBeLessThan(60);
  await expect(pack([...pads, 8])).rejects.toThrow(/^This episode is longer than an hour/);
  await expect(unpack("no-episode")).rejects.toThrow(/^The episode in this link is damaged: ask /);
});

test("a link to a longer episode is refused before it is unpacked", async () => {
  const runs = Uint8Array.from({ length: 1_000_000 }, (_, i) => (i % 2 ? 255 : 8)); // 25 days
  const packed = Buffer.from(await deflate(runs)).toString("base64url");
  await expect(unpack(packed)).rejects.toThrow(/damaged/);
});

test("a link is read as it was written, and says what it lacks", () => {
  const known = (act: string) => act === "A.Act1";
  const state = {
    mode: "race",
    act: "A.Act1",
    players: ["you", "ppo2"],
    seed: 7,
    sticky: false,
    free: false,
    replay: "",
  } as const;
  expect(parse(format({ ...state, players: [...state.players] }), known)).toEqual({
    state,
    flaw: "",
  });
  expect(parse("#/jump?act=B.Act9&seed=-1", known).flaw).toBe(
    "This link names no view and no act and no seed that is known here: choose below.",
  );
  const begins = ["#/play", "#/watch", "#/play?act=A.Act1"].map((hash) => parse(hash, () => true));
  expect(begins.map(({ state: { act } }) => act)).toEqual([
    ...["BrambleWood.Act1", "RustCavern.Act2", "A.Act1"],
  ]);
});

test("an episode of an unknown act is not played on another", () => {
  const replay = (hash: string) => parse(hash, (act) => act === "A.Act1").state.replay;
  expect(replay("#/watch?act=A.Act1&replay=x")).toBe("x");
  expect(replay("#/watch?act=B.Act9&replay=x")).toBe("");
});
