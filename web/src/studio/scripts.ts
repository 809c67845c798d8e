/** Agents of the studio that play without a net, in the browser's own engine. */

import { readRecording } from "../game/recording";
import { GAME } from "../game/world";
import type { Script } from "../players/cast";
import { Replay, Sequence } from "../players/players";

/** What retro_agents/studio/sequences.py writes. */
interface Sequences {
  names: string[];
  levels: Record<string, number[]>;
}

/** JERK's best sequences; on other acts it runs to the right, as it does everywhere. */
export function jerk(data: ArrayBuffer): Script {
  const { names, levels } = JSON.parse(new TextDecoder().decode(data)) as Sequences;
  return {
    frames: 0,
    on: (act, name) => new Sequence(name, levels[`${GAME}:${act.id}`] ?? [], names),
  };
}

/** A recording, which plays on its own act alone. */
export async function recording(data: Uint8Array): Promise<Script> {
  const { act, pads } = await readRecording(data);
  return {
    frames: pads.length,
    on: (one, name) => {
      if (one.id !== act) throw new Error(`${name} was recorded on ${act}: choose that act.`);
      return new Replay(name, pads);
    },
  };
}
