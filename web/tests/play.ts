/** What tests/web/reference.py does in Python: an act played by PPO2, as checksums. */

import type { Engine } from "../src/engine/engine";
import { Random } from "../src/engine/random";
import { crc32 } from "../src/game/crc";
import { Episode } from "../src/game/episode";
import { ACTION_PADS, CONTEST } from "../src/game/rules";
import type { Net } from "../src/nets/net";
import { choose } from "../src/players/policy";

const STEPS = 500;

export function play(game: Engine, net: Net, act: number, seed: number) {
  const draws = new Random(seed, 1);
  const [actions, rewards, ends] = [[] as number[], [] as number[], [] as number[]];
  let episode = new Episode(game, act, CONTEST, seed);
  let observations = crc32(game.observation());
  while (actions.length < STEPS) {
    const action = choose(
      net.facts,
      net.run(game.observation()).scores,
      Math.fround(draws.random()),
    );
    episode.step(ACTION_PADS[action]);
    observations = crc32(game.observation(), observations);
    actions.push(action);
    rewards.push(Math.round(4 * episode.reward));
    if (!episode.over) continue;
    ends.push(actions.length);
    episode = new Episode(game, act, CONTEST, seed + 1000 * ends.length);
    observations = crc32(game.observation(), observations);
  }
  return {
    observations,
    rewards: crc32(new Uint8Array(Int32Array.from(rewards).buffer)),
    actions: crc32(Uint8Array.from(actions)),
    return: rewards.reduce((a, b) => a + b) / 4,
    ends,
  };
}
