"""The games that a player shows, each frame by frame where it has frames."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.policy import Policy
from retro_agents.games.families import make
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.contest_env import FRAMES_PER_SECOND
from retro_agents.games.retro.make import make_contest_env, make_env
from retro_agents.games.retro.recordings import read_recording
from retro_agents.games.retro.references import REFERENCES
from retro_agents.ground.errors import UserError
from retro_agents.judging.demonstrate import action_of, level_of
from retro_agents.judging.policies import load_policy
from retro_agents.run.checkpoint import load_agent

RECORDING = ".bk2"
NOTHING = np.zeros((1, 1, 1), np.uint8)
"""What a recording sees."""
Images = NDArray[np.uint8]
STEPS_PER_SECOND = 15
"""Steps a second of games that are not played frame by frame."""
Screen = Callable[[NDArray[np.uint8], float], None]
"""Shows a screen [H,W,3], at that many frames a second."""


class Part(msgspec.Struct):
    """Who plays where. agent: a checkpoint's folder, a name, or a recording's file."""

    agent: str
    level: str
    seed: int = 0


class Game(NamedTuple):
    """An agent in a game. reset: seed -> observation [C,H,W]; step: action -> the next one, the
    reward, and whether the episode is over; act: observation and whether an episode begins ->
    action. policy: None of a recording, which a person cannot take over."""

    names: tuple[str, ...]
    reset: Callable[[int], Images]
    act: Callable[[Images, bool], int]
    step: Callable[[int], tuple[Images, float, bool]]
    policy: Policy | None = None
    channels: int = 1


@contextmanager
def game_of(part: Part, screen: Screen) -> Iterator[Game]:
    """The game of a part. Raises UserError if it cannot be played."""
    if part.agent.endswith(RECORDING):
        opened = recorded_game(Path(part.agent), screen)
    else:
        if part.agent in REFERENCES:
            policy, settings = load_policy(part.agent, seed=part.seed)
        else:
            policy = load_agent(part.agent)
            settings = policy.config.env
        kind = retro_game if isinstance(settings, EnvConfig) else other_game
        opened = kind(part, policy, settings, screen)
    with opened as game:
        yield game


def acting(policy: Policy) -> Callable[[Images, bool], int]:
    """A policy for one row."""
    return lambda obs, begins: int(policy.act(obs[np.newaxis], starts=np.array([begins]))[0])


@contextmanager
def retro_game(part: Part, policy: Policy, settings: EnvConfig, screen: Screen) -> Iterator[Game]:
    """A platform game in the emulator, shown frame by frame."""
    env = make_env(part.level, replace(settings.with_raw_rewards(), backend="emulator"))
    with closing(env):
        contest: Any = env.unwrapped
        contest.on_frame = lambda: screen(contest.render(), FRAMES_PER_SECOND)

        def reset(seed: int) -> Images:
            return np.asarray(env.reset(seed=seed)[0])

        def step(action: int) -> tuple[Images, float, bool]:
            obs, reward, terminated, truncated, _ = env.step(action)
            return obs, float(reward), terminated or truncated

        spec = settings.spec()
        yield Game(spec.action_names, reset, acting(policy), step, policy, spec.channels)


@contextmanager
def other_game(part: Part, policy: Policy, settings: Any, screen: Screen) -> Iterator[Game]:
    """A game of another family, shown as the agent sees it."""
    envs: Any = make(part.level, settings.with_raw_rewards(), num_envs=1, seed=part.seed)
    spec = envs.env_spec
    with closing(envs):

        def reset(seed: int) -> Images:
            return np.asarray(envs.reset(seed=seed)[0][0])

        def step(action: int) -> tuple[Images, float, bool]:
            obs, rewards, terminated, truncated, infos = envs.step(np.array([action]))
            over = bool(terminated[0] or truncated[0])
            seen = infos["final_obs"][0] if over else obs[0]  # else it is of the next level
            picture = beside(seen[-spec.channels :], spec.channels)
            colours = picture if spec.channels == 3 else np.repeat(picture[..., None], 3, -1)
            screen(colours, STEPS_PER_SECOND)
            return seen, float(rewards[0]), over

        yield Game(spec.action_names, reset, acting(policy), step, policy, spec.channels)


@contextmanager
def recorded_game(path: Path, screen: Screen) -> Iterator[Game]:
    """A recording on the level where it was made. An action is the one closest to its buttons.
    Raises UserError if it has no step, as of an episode that was only begun."""
    read, rules = read_recording(path), EnvConfig().with_raw_rewards()
    pads, at, names = read.pads[1:], 0, rules.spec().action_names
    if not len(pads):
        raise UserError(f"{path.name} ends before any button was pressed: choose another one")
    config = replace(
        rules, backend="emulator", frame_skip=1, stick_probability=0.0, episode_steps=0
    )
    with closing(make_contest_env(level_of(read, path), config)) as env:
        contest: Any = env.unwrapped
        contest.on_frame = lambda: screen(contest.render(), FRAMES_PER_SECOND)

        def reset(seed: int) -> Images:
            nonlocal at
            at = 0
            env.reset(seed=seed)
            return NOTHING

        def act(obs: Images, begins: bool) -> int:
            return action_of(pads[at : at + rules.frame_skip], names)

        def step(action: int) -> tuple[Images, float, bool]:
            nonlocal at
            total, over = 0.0, False
            for pad in pads[at : at + rules.frame_skip]:
                _, reward, over, _, _ = env.step(pad.astype(np.int8))
                total += float(reward)
                if over:
                    break
            at += rules.frame_skip
            return NOTHING, total, over or at >= len(pads)

        yield Game(names, reset, act, step)


def png(picture: NDArray[np.uint8]) -> bytes:
    """A picture [H,W] or [H,W,3] as a PNG."""
    import cv2  # slow to import

    colours = picture if picture.ndim == 2 else picture[..., ::-1]
    return bytes(cv2.imencode(".png", colours, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1])


def beside(images: NDArray[np.uint8], channels: int) -> NDArray[np.uint8]:
    """The frames of an observation [C,H,W] side by side, the oldest first."""
    frames = images.reshape(-1, channels, *images.shape[1:])
    row = np.concatenate([*frames], axis=-1)
    return row[0] if channels == 1 else row.transpose(1, 2, 0)
