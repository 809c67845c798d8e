"""A replay shows what the environment showed, in stacks with a gap."""

import numpy as np

from retro_agents.experience.replay import Replay
from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.procgen.vector import make_vec


def test_replay_gives_back_what_was_seen():
    config = ProcgenConfig(frames="0,-3")
    envs, spec = make_vec("bigfish", num_envs=4, config=config), config.spec()
    replay = Replay(1600, 4, frame_shape=(3, 64, 64), n_step=1, gamma=0.9,
                    alpha=0.5, steps_back=spec.steps_back)  # fmt: skip
    obs, _ = envs.reset(seed=0)
    shown, ends, rng = {}, 0, np.random.default_rng(0)
    for _ in range(300):
        actions = rng.integers(15, size=4)
        for row in range(4):
            shown[row * replay.slots + int(replay.heads[row])] = obs[row]
        after, rewards, terminated, truncated, infos = envs.step(actions)
        replay.add(obs, actions, rewards, terminated, truncated, infos.get("final_obs", after))
        ends += int((terminated | truncated).sum())
        obs = after
    drawable = np.flatnonzero(replay.tree.leaves)
    batch = replay.gather(drawable, np.ones(len(drawable), np.float32))
    assert ends > 4 and len(drawable) > 1000
    for index, seen, following, discount in zip(
        drawable.tolist(), batch.obs, batch.next_obs, batch.discounts, strict=True
    ):
        np.testing.assert_array_equal(seen, shown[index])
        if discount > 0.0 and index + 1 in shown:
            np.testing.assert_array_equal(following, shown[index + 1])
