/** Recordings (.bk2) as the emulator and `retro-agents` write and read them: a start state and the
 * buttons of every frame. */

import { PAD } from "../engine/engine";
import { fetchUnpacked, GAME, STATES, type Act } from "./world";
import { unzip, zip } from "./zip";

const files = import.meta.glob<string>(
  "../../../cartridge/integration/BrambleDash-Genesis-v0/*.state",
  {
    query: "?url",
    import: "default",
    eager: true,
  },
);
const LETTERS = "ZXYCRLDUSMAB";
const KEY =
  "[Input]\nP1 Z|P1 X|P1 Y|P1 C|P1 Right|P1 Left|P1 Down|P1 Up|P1 Start|P1 Mode|P1 A|P1 B|\n";
const HEADER =
  "MovieVersion Retro\nAuthor ?\nemuVersion ?\nPlatform GEN\n" +
  `GameName ${GAME}\nSHA1 ?\nCore ?\nrerecordCount 1\n`;
const JUMPS = "ABC";
const WAYS: Record<string, number> = { R: PAD.RIGHT, L: PAD.LEFT, D: PAD.DOWN, U: PAD.UP };
const BITS: Record<string, number> = { ...WAYS, B: PAD.B, C: PAD.C };

/** The row of a frame in a recording's log. */
function row(pad: number): string {
  return `|..|${Array.from(LETTERS, (letter) => (pad & (BITS[letter] ?? 0) ? letter : ".")).join("")}|\n`;
}

/** The pads of a log's buttons. The game jumps at each new press of A, B or C, even if another is
 * held: it is written as whichever of B and C was not held before. */
function padsOf(log: string[]): number[] {
  let [before, jump] = ["", 0];
  return log.map((buttons) => {
    const jumps = Array.from(buttons).filter((letter) => JUMPS.includes(letter));
    if (jumps.some((letter) => !before.includes(letter))) jump = jump === PAD.B ? PAD.C : PAD.B;
    else if (!jumps.length) jump = 0;
    before = buttons;
    return Array.from(buttons).reduce((pad, letter) => pad | (WAYS[letter] ?? 0), jump);
  });
}

/** A recording of an episode on one of the game's own acts. state: the console's memory. */
export function written(pads: ArrayLike<number>, state: Uint8Array): Promise<Blob> {
  const rows = Array.from(pads, row).join("");
  const text = (content: string) => new TextEncoder().encode(content);
  // The first row is the frame of the reset, which presses nothing.
  return zip({
    "Input Log.txt": text(`${KEY}${row(0)}${rows}[/Input]`),
    "Header.txt": text(HEADER),
    "Core.bin": state,
  });
}

/** An episode's recording, with the act's start state fetched. */
export async function record(act: Act, pads: ArrayLike<number>): Promise<Blob> {
  const find = Object.entries(files).find(([path]) => path.endsWith(`/${act.name}.state`));
  if (act.kind === "new" || !find)
    throw new Error("A new act has no state for the console: share its link instead.");
  return written(pads, await fetchUnpacked(find[1]));
}

/** The act and pads of a recording. Throws a sentence for the page if it is of another game. */
export async function readRecording(file: Uint8Array): Promise<{ act: string; pads: number[] }> {
  const texts = new Map<string, string>();
  let core = 0;
  try {
    for (const entry of unzip(file)) {
      if (entry.name === "Core.bin") core = entry.crc;
      else if (entry.name.endsWith(".txt"))
        texts.set(entry.name, new TextDecoder().decode(await entry.read()));
    }
  } catch {
    throw new Error(
      "This is no whole recording: drop a .bk2 that `retro-agents` or this page wrote.",
    );
  }
  const game = /^GameName (.*)$/m.exec(texts.get("Header.txt") ?? "")?.[1]?.trim();
  if (game !== GAME)
    throw new Error(`This recording is of ${game ?? "another game"}: drop one of ${GAME}.`);
  const act = Object.keys(STATES).find((name) => STATES[name] === core);
  if (!act)
    throw new Error("This recording begins at none of the acts: record it from an act's start.");
  const rows = (texts.get("Input Log.txt") ?? "")
    .split("\n")
    .filter((line) => line.startsWith("|"));
  const pads = padsOf(rows.slice(1).map((line) => line.split("|")[2] ?? ""));
  if (!pads.length)
    throw new Error("This recording ends before any button was pressed: drop another.");
  return { act, pads };
}
