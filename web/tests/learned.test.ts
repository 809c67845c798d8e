import { expect, test } from "vitest";
import { Pack } from "../src/engine/pack";
import { Learner } from "../src/learn/learner";
import { engine, PACK } from "./files";
import learned from "./learned.json";

test.each(learned)(
  "the search on $act learns what it learns in Python",
  ({ act, seed, timesteps, ...expected }) => {
    const game = engine({ pictures: false, frameSkip: 4 });
    const learner = new Learner(game, new Pack(PACK).names.indexOf(act), seed, timesteps);
    learner.run(timesteps);
    const best = [...learner.search.sequences.best()!.actions];
    expect({ returns: learner.returns, kinds: learner.kinds, best }).toEqual(expected);
  },
);
