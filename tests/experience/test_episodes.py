import dataclasses

import numpy as np
import pytest

from retro_agents.contract.envs import EnvSpec
from retro_agents.experience.episodes import (
    Episode,
    check_played_alike,
    episodes_of,
    write_episodes,
)
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import load_checkpoint, save_checkpoint

NAMES = ("LEFT", "RIGHT", "JUMP")


def episode(steps, *, seed=0, framed=True, **changes):
    rng = np.random.default_rng(seed)
    frames = rng.integers(0, 256, (steps + 1, 1, 5, 6), np.uint8) if framed else None
    actions = rng.integers(0, 3, steps).astype(np.uint8)
    made = Episode("game:level", actions, rng.random(steps) / 3, True, NAMES, 4, frames)
    return dataclasses.replace(made, **changes)


def three():
    return [
        episode(4, seed=1, level="game:other", terminated=False),
        episode(1, seed=2, framed=False, frame_skip=2),
        episode(9, seed=3, action_names=("LEFT",)),
    ]


def test_written_episodes_come_back_in_their_order(tmp_path):
    saved = load_checkpoint(write_episodes(tmp_path, three(), env_steps=7))
    assert saved.counters["env_steps"] == 7
    for one, again in zip(three(), episodes_of(saved), strict=True):
        for field in dataclasses.fields(Episode):
            was, now = getattr(one, field.name), getattr(again, field.name)
            if isinstance(was, np.ndarray):
                assert was.dtype == now.dtype
                np.testing.assert_array_equal(was, now)
            else:
                assert type(was) is type(now) and was == now


def test_rewards_of_any_type_come_back(tmp_path):
    kinds = (np.int64, np.float32, np.float64)
    rewards = [np.array([0.0, 1.0], kind) for kind in kinds]
    written = [episode(2, actions=np.array([1, 2]), rewards=each) for each in rewards]
    for again in episodes_of(load_checkpoint(write_episodes(tmp_path, written))):
        assert again.rewards.dtype == np.float64 and list(again.rewards) == [0.0, 1.0]
        assert again.actions.dtype == np.uint8 and list(again.actions) == [1, 2]


def test_later_episodes_replace_earlier_ones_of_any_kind(tmp_path):
    for steps, framed in ((3, True), (5, False)):
        write_episodes(tmp_path, [episode(steps, framed=framed)] * 2, env_steps=steps)
        (folder,) = tmp_path.iterdir()
        stored = episodes_of(load_checkpoint(folder))
        found = [(len(one.actions), one.frames is not None) for one in stored]
        assert found == [(steps, framed)] * 2
    plain = tmp_path / "plain"
    save_checkpoint(plain, agent="x", config={}, counters={"env_steps": 0}, tensors={})
    assert episodes_of(load_checkpoint(plain)) == []  # a plain checkpoint holds none
    assert episodes_of(load_checkpoint(write_episodes(tmp_path / "none", []))) == []


@pytest.mark.parametrize(
    ("names", "skip", "words"),
    [
        (("LEFT", "RIGHT"), 4, "actions LEFT, RIGHT, JUMP"),
        (("RIGHT", "LEFT", "JUMP"), 4, "has 4 and RIGHT, LEFT, JUMP"),
        (NAMES, 3, "frame_skip 4"),
    ],
)
def test_episodes_played_otherwise_are_refused_in_one_line(names, skip, words):
    for alike in (NAMES, (*NAMES, "WAIT")):
        check_played_alike([episode(3)], EnvSpec("", (1, 1, 1), 1, alike, 4, {}), source="here")
    nameless = episode(3, actions=np.array([0, 3, 1], np.uint8))
    with pytest.raises(UserError, match="here holds action 3 of an episode with 3 actions"):
        check_played_alike([nameless], EnvSpec("", (1, 1, 1), 1, NAMES, 4, {}), source="here")
    spec = EnvSpec("", (1, 1, 1), 1, names, skip, {})
    with pytest.raises(UserError, match=words) as error:
        check_played_alike([episode(3)], spec, source="here")
    assert r"\n" not in str(error.value) and "here" in str(error.value)
