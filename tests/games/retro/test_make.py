"""The environment against a slow oracle: stable-retro's own step, and the rules written plainly."""

import gzip
from collections import deque
from contextlib import closing
from dataclasses import replace
from functools import partial
from unittest.mock import Mock

import cv2
import gymnasium
import numpy as np
import pytest
import stable_retro
from gymnasium.error import InvalidAction
from gymnasium.utils.env_checker import check_env

from cartridge.levels.oracle import read_proof
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.integrations import kind_of
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_contest_env, make_env, make_vec
from retro_agents.games.retro.vector import RetroVectorEnv
from retro_agents.games.retro.wrappers import EpisodeRecord
from retro_agents.ground.errors import UserError
from tests.games.retro.test_shrink import by_area

SEVEN = [["LEFT"], ["RIGHT"], ["LEFT", "DOWN"], ["RIGHT", "DOWN"], ["DOWN"], ["DOWN", "B"], ["B"]]


class Oracle:
    """The contest's rules by the book, one RetroEnv.step per frame."""

    def __init__(self, level, config):
        self.config = config
        self.env = stable_retro.RetroEnv(
            level.game,
            state=level.state,
            scenario=config.scenario,
            inttype=kind_of(level.game),
            render_mode="rgb_array",
        )
        self.close = self.env.close

    def warp(self, screen):
        grey = cv2.cvtColor(screen, cv2.COLOR_RGB2GRAY)
        return by_area(grey, 84, 84)

    def reset(self, seed=None):
        if seed is not None:
            self.random, _ = gymnasium.utils.seeding.np_random(seed)
        screen, _ = self.env.reset()
        self.frames = deque([self.warp(screen)] * 4, maxlen=4)
        self.held, self.steps, self.total, self.furthest = None, 0, 0.0, 0.0
        return np.stack(self.frames), {}

    def step(self, action):
        wanted = np.array([button in SEVEN[action] for button in self.env.buttons], np.int8)
        reward = 0.0
        for substep in range(4):
            if self.held is None:
                self.held = wanted
            elif substep == 0:
                if self.random.random() > self.config.stick_probability:
                    self.held = wanted
            elif substep == 1:
                self.held = wanted
            screen, gain, done, _, _ = self.env.step(self.held)
            reward += gain
            if done:
                break
        self.frames.append(self.warp(screen))
        self.steps += 1
        self.total += reward
        gain = max(0.0, self.total - self.furthest)
        self.furthest = max(self.furthest, self.total)
        cut = self.steps == self.config.episode_steps
        info = {"episode_record": {"r": self.total}} if done or cut else {}
        return np.stack(self.frames), gain, done, cut, info


def run(env, actions):
    """What is seen before each action, its reward, whether it ends or cuts, and then the return."""
    with closing(env):
        (obs, _), rows = env.reset(seed=5), []
        for action in actions:
            before = obs
            obs, reward, done, cut, info = env.step(action)
            rows.append((before, reward, done, cut, info.get("episode_record", {}).get("r")))
            if done or cut:
                obs, _ = env.reset()
    return rows


def test_equals_the_slow_oracle_step_for_step(playable):
    level, config = playable
    config = replace(config, episode_steps=120)
    random = np.random.default_rng(1)
    actions = random.integers(0, 7, 300).repeat(random.integers(1, 8, 300))[:300]
    theirs, ours = run(Oracle(level, config), actions), run(make_env(level, config), actions)
    np.testing.assert_equal(ours, theirs)
    assert any(row[2] or row[3] for row in theirs), "the run should cross an episode's end"
    assert any(row[1] for row in theirs), "the run should see a reward"


# Gymnasium warns about any wrapped environment, which is what an agent is given.
@pytest.mark.filterwarnings("ignore:.*is different from the unwrapped version")
def test_passes_gymnasiums_check(playable, closed):
    env = closed(make_env(*playable))
    check_env(env, skip_render_check=True)
    check_env(env.unwrapped, skip_render_check=True)


B, DOWN, LEFT, RIGHT = 1, 32, 64, 128
SEVEN_MASKS = [LEFT, RIGHT, LEFT | DOWN, RIGHT | DOWN, DOWN, DOWN | B, B]
TEN_MASKS = [*SEVEN_MASKS, 0, LEFT | B, RIGHT | B]


@pytest.mark.parametrize(
    ("settings", "actions", "masks"),
    [
        ({"actions": 10, "stick_probability": 0.0}, range(10), np.repeat(TEN_MASKS, 4)),
        # The first step never sticks, and a stick holds one frame.
        (
            {"stick_probability": 1.0},
            (0, 1, 6),
            [LEFT] * 4 + [LEFT] + [RIGHT] * 3 + [RIGHT] + [B] * 3,
        ),
    ],
    ids=["ten", "stuck"],
)
def test_actions_are_buttons_and_stick_for_a_frame(bramble, closed, settings, actions, masks):
    level, config = bramble
    env = closed(make_env(level, replace(config, **settings)))
    env.reset()
    for action in actions:
        env.step(action)
    assert list(env.unwrapped.emulator.masks) == list(masks)


def test_a_second_emulator_in_one_process_is_refused_in_one_line(bramble, closed):
    closed(make_env(*bramble))
    with pytest.raises(UserError, match="make_vec"):
        make_env(*bramble)


UNKNOWN = b'{"%s": {"variables": {"lifes": {"op": "zero"}}}}'


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("Level1.state", gzip.compress(bytes(1_000)), "refuses the state of .*:Level1"),
        ("Level1.state", bytes(1_000), "is no state, which gzip compresses"),
        ("scenario.json", UNKNOWN % b"reward", "names 'lifes', which data.json lacks"),
        ("scenario.json", UNKNOWN % b"done", "names 'lifes', which data.json lacks"),
        ("scenario.json", b'{"reward": {"variables": {"score": 3}}}', "is not built as"),
        ("scenario.json", b"{", "does not start"),
        ("data.json", b"{", "does not start"),
        ("rom.md", b"", "does not start"),
    ],
    ids=["short state", "plain state", "reward", "done", "shape", "scenario", "data", "rom"],
)
def test_a_damaged_integration_is_one_line(copied, closed, file, content, says):
    files = ("rom.md", "data.json", "metadata.json", "scenario.json", "Level1.state")
    game = copied("Airstriker-Genesis-v0", "Damaged-Genesis", *files)
    (game / file).write_bytes(content)
    level = Level(game.name, "Level1")
    with pytest.raises(UserError, match=says) as refused:
        closed(make_env(level, EnvConfig(scenario="scenario"))).reset()
    assert "\n" not in str(refused.value)


def test_finishing_a_level_is_reported_with_the_contests_full_return(either, closed):
    env = closed(make_env(str(either[0]), replace(either[1], stick_probability=0.0)))
    env.reset()
    for action in read_proof("BrambleWood.Act1"):
        _, _, terminated, truncated, info = env.step(action)
        assert not truncated
        if terminated:
            break
    episode = info["episode_record"]
    assert episode["finished"]
    assert episode["progress"] == 1.0
    assert 9000 < episode["r"] < 10000


@pytest.mark.parametrize(("backtracking", "scale"), [(True, 0.01), (True, 1.0), (False, 0.5)])
def test_recorded_rewards_become_those_that_the_environment_gives(either, backtracking, scale):
    level, config = either
    actions = np.random.default_rng(1).choice([0, 1, 1, 1, 6], 120)  # back and forth

    def played(config):
        env = make_env(level, config)
        env.reset(seed=4)
        rewards = [env.step(action)[1] for action in actions]
        env.close()
        return np.array(rewards)

    raw = played(replace(config, backtracking=False))
    config = replace(config, backtracking=backtracking, reward_scale=scale)
    assert (raw < 0).any() and (raw > 0).any()
    np.testing.assert_allclose(config.learning_rewards(raw), played(config), rtol=1e-5, atol=1e-5)


def test_a_restored_episode_knows_how_far_it_came():
    def walked(*rewards):
        env = Mock(spec=gymnasium.Env)
        env.reset.return_value = None, {"level": "Act1"}
        env.step.side_effect = [(None, reward, False, False, {}) for reward in rewards]
        record = EpisodeRecord(env)
        record.reset()
        for _ in rewards:
            record.step(0)
        return record

    one, other = walked(4_500.0, -900.0), walked()
    other.restore(one.save())
    assert other.episode() == one.episode()
    assert one.episode()["progress"] == 0.5


def test_the_contests_side_takes_twelve_buttons(either):
    env = make_contest_env(*either)
    env.reset()
    for wrong in (3, "RIGHT", None, [0] * 11, [0.5] * 12, [0] * 20 + [1]):
        with pytest.raises(InvalidAction, match="expected 12 buttons of 0 or 1"):
            env.step(wrong)
    env.step([True] + [False] * 11)
    env.close()


def test_variables_of_several_games_are_those_that_all_have():
    rows = [{"x": 1, "gameover": 0, "lives": 3}, {"x": 4, "lives": 2}]
    envs = Mock(ask=lambda *_: rows, num_envs=2)
    found = RetroVectorEnv.variables(envs)
    assert {name: values.tolist() for name, values in found.items()} == {
        "x": [1, 4],
        "lives": [3, 2],
    }


@pytest.mark.parametrize("make", [make_env, make_contest_env, partial(make_vec, num_envs=1)])
def test_a_level_or_config_of_another_type_is_one_line(make):
    for level in (5, None, ("BrambleDash-Genesis-v0", "BrambleWood.Act3")):
        with pytest.raises(UserError, match=r"give a name, such as 'BrambleWood.Act3'"):
            make([level] if isinstance(make, partial) else level)
    with pytest.raises(UserError, match=r"a config of type dict: give an EnvConfig, such as"):
        make("BrambleWood.Act3", {"actions": 10})
