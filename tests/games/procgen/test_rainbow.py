"""Rainbow on Procgen: its replay shows what the environment showed."""

import numpy as np
import pytest

from rainbow.train import parse, run
from retro_agents.experience.replay import Replay
from retro_agents.games.families import make_for
from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.procgen.vector import make_vec
from retro_agents.ground.errors import UserError
from retro_agents.run.metrics import read_columns


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


@pytest.mark.parametrize("preset", ["laptop", "ape-x"])
def test_rainbow_trains_and_goes_on(preset, tmp_path):
    flags = [
        *("--preset", preset, "--widths", "", "--update-every", "4", "--batch-size", "16"),
        *("--levels", "procgen:bigfish,coinrun", "--frames", "0,-7", "--num-envs", "4"),
        *("--encoder", "data-efficient", "--hidden", "16", "--timesteps", "400", "--device", "cpu"),
        *("--learning-starts", "100", "--replay-size", "600", "--log-every", "100"),
        *("--checkpoint-every", "200", "--run-dir", str(tmp_path)),
    ]
    config = parse(flags)
    run(make_for(config), config, tmp_path)
    config = parse(["--run-dir", str(tmp_path), "--resume", "--timesteps", "800"])
    run(make_for(config), config, tmp_path)
    assert read_columns(tmp_path / "metrics.csv")["updates"][-1] > 100
    other = parse(["--run-dir", str(tmp_path), "--resume", "--frames", "0,-3"])
    with pytest.raises(UserError, match="resume it with --frames 0,-7"):
        run(make_for(other), other, tmp_path)
