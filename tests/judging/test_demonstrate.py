"""A .bk2 becomes the episode that was played."""

from dataclasses import replace

import numpy as np
import pytest

from retro_agents.experience.episodes import Episode, episodes_of
from retro_agents.games.retro.config import ACTIONS, SEVEN, EnvConfig
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_contest_env, make_env
from retro_agents.judging.demonstrate import action_for, main, replayed
from retro_agents.run.checkpoint import load_checkpoint

LEVEL = Level("BrambleDash-Genesis-v0", "RustCavern.Act1")


@pytest.mark.parametrize("backend", ["native", "emulator"])
def test_a_recording_becomes_what_the_agent_saw_did_and_earned(tmp_path, backend):
    config = replace(EnvConfig(), backend=backend, episode_steps=60)
    env = make_env(LEVEL, config, record_dir=tmp_path)
    rng = np.random.default_rng(0)
    obs, _ = env.reset(seed=1)
    seen, did, earned = [obs[-1:]], [], []
    ended = False
    while not ended:
        did.append(int(rng.choice([1, 1, 1, 6, 6, 3])))
        obs, reward, terminated, truncated, _ = env.step(did[-1])
        seen.append(obs[-1:])
        earned.append(reward)
        ended = terminated or truncated
    env.close()
    (recording,) = tmp_path.glob("*.bk2")
    main([str(recording), "--out", str(tmp_path / "shown")])
    (episode,) = episodes_of(load_checkpoint(tmp_path / "shown"))
    assert episode.level == str(LEVEL) and episode.action_names == SEVEN
    np.testing.assert_array_equal(episode.frames, np.stack(seen))
    np.testing.assert_allclose(config.learning_rewards(episode.rewards), earned)
    # A recording has no more of the last step than its end; all others stick in one frame of four.
    assert episode.actions[:-1].tolist() == did[:-1]
    assert episode.terminated == terminated


def test_the_best_of_several_recordings_comes_last(tmp_path, monkeypatch):
    rewards = {"a.bk2": 9.0, "b.bk2": 3.0}

    def episode(path, config):
        actions, frames = np.ones(1, np.uint8), np.zeros((2, 1, 84, 84), np.uint8)
        about = {"action_names": SEVEN, "frame_skip": 4, "frames": frames}
        return Episode(str(LEVEL), actions, np.array([rewards[path.name]]), False, **about)

    monkeypatch.setattr(f"{main.__module__}.replayed", episode)
    for name in rewards:
        (tmp_path / name).touch()
    main([*(str(tmp_path / name) for name in rewards), "--out", str(tmp_path / "shown")])
    shown = episodes_of(load_checkpoint(tmp_path / "shown"))
    assert [one.total_reward for one in shown] == [3.0, 9.0]


@pytest.mark.parametrize(
    ("held", "names", "action"),
    [
        (["RIGHT"], SEVEN, "RIGHT"),
        (["RIGHT", "A"], SEVEN, "B"),
        (["RIGHT", "C"], ACTIONS[10], "RIGHT B"),
        (["DOWN", "B", "RIGHT"], SEVEN, "DOWN B"),
        (["UP", "LEFT"], SEVEN, "LEFT"),
        (["START"], SEVEN, "DOWN"),
        ([], SEVEN, "DOWN"),
        ([], ACTIONS[10], ""),
    ],
)
def test_buttons_become_the_nearest_action(held, names, action):
    assert names[action_for(held, names)] == action


def test_a_persons_frames_are_taken_four_at_a_time(tmp_path):
    env = make_contest_env(
        LEVEL, replace(EnvConfig(), frame_skip=1, stick_probability=0.0), record_dir=tmp_path
    )
    env.reset()
    right, jump = np.zeros(12, np.int8), np.zeros(12, np.int8)
    right[7], jump[[0, 7]] = 1, 1
    for buttons in (*4 * [right], right, *3 * [jump], jump, *3 * [right], right):
        env.step(buttons)
    env.close()
    (recording,) = tmp_path.glob("*.bk2")
    episode = replayed(recording, EnvConfig())
    assert [SEVEN[action] for action in episode.actions] == ["RIGHT", "B", "RIGHT", "RIGHT"]
    assert not episode.terminated and len(episode.frames) == 5
