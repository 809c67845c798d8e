"""Films of episodes: as the agent sees them, or redrawn by the original in high resolution."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.envs import Infos, ended_episodes
from retro_agents.contract.policy import Play, Policy
from retro_agents.games.procgen.config import COLOURS, ProcgenConfig
from retro_agents.games.procgen.games import FRAMES_PER_SECOND
from retro_agents.games.procgen.pool import options_of
from retro_agents.games.procgen.vector import make_vec
from retro_agents.ground.errors import UserError
from retro_agents.ground.film import write_video
from retro_agents.ground.seeding import aside
from retro_agents.run.environments import python_of

ORIGINAL = Path(__file__).with_name("original.py")
"""The file that pins the original's environment."""
LARGE = 512
"""Side in pixels of the original's frames."""


def original_python() -> Path:
    """A Python with the original's package, see `retro_agents.run.environments`."""
    return python_of(ORIGINAL.with_suffix(".txt"), with_torch=False)


@dataclass(frozen=True)
class Played:
    """A played episode."""

    level: int
    actions: list[int]
    """The actions that were executed, including sticky ones."""
    rewards: list[float]
    """The raw rewards."""
    frames: list[NDArray[np.uint8]]
    """[64,64,3], before each action and at the end."""


def play(
    policy: Policy, game: str, settings: ProcgenConfig, *, seed: int, way: Play | None
) -> Played:
    """Play one episode, without changing the agent's random state or anything else. way: as `play`
    of `Policy.act`."""
    envs = make_vec(game, num_envs=1, config=settings.with_raw_rewards(), seed=seed)
    with closing(envs), aside(seed):
        obs, _ = envs.reset()
        level = int(envs.levels[0].rpartition(":")[2])
        frames, starts = [], np.ones(1, bool)
        actions: list[int] = []
        rewards: list[float] = []
        infos: Infos = {}
        while not ended_episodes(infos):
            frames.append(obs[0, -COLOURS:].transpose(1, 2, 0))
            chosen = policy.act(obs, play=way, starts=starts)
            envs.step_async(chosen)
            actions.append(envs.actions[0][-1])
            obs, reward, *_, infos = envs.step_wait()
            rewards.append(float(reward[0]))
            starts = np.zeros(1, bool)
        frames.append(infos["final_obs"][0][-COLOURS:].transpose(1, 2, 0))
    return Played(level, actions, rewards, frames)


def film(
    policy: Policy,
    game: str,
    settings: ProcgenConfig,
    path: Path,
    *,
    seed: int,
    original: Path | None = None,
    way: Play | None = None,
) -> Path:
    """One episode as an .mp4, each pixel enlarged -> path. original: a Python with the original's
    package, which redraws it in 512×512 from the level's seed and the actions. way: as
    for `play`."""
    played = play(policy, game, settings, seed=seed, way=way)
    if original is None:
        return write_video(path, played.frames, fps=FRAMES_PER_SECOND, scale=8)
    pictures = drawn_by(original, game, settings, played)
    return write_video(path, pictures, fps=FRAMES_PER_SECOND)


def drawn_by(
    original: Path, game: str, settings: ProcgenConfig, played: Played
) -> Iterator[NDArray[np.uint8]]:
    """The original's frames [512,512,3] before each action. Raises UserError if it does not
    start, or if its episode differs."""
    mode, options = options_of(game, settings)
    case = {
        "game": game,
        "mode": mode,
        "level": played.level,
        "actions": played.actions,
        **{name: value for name, value in options.items() if isinstance(value, bool)},
    }
    shape, size = (LARGE, LARGE, 3), LARGE * LARGE * 3
    with tempfile.TemporaryFile() as cases, tempfile.TemporaryFile() as errors:
        cases.write(json.dumps([case]).encode())
        cases.seek(0)
        with subprocess.Popen(
            [str(original), "-P", str(ORIGINAL), "--film"],
            stdin=cases,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process:
            assert process.stdout is not None
            while len(picture := process.stdout.read(size)) == size:
                yield np.frombuffer(picture, np.uint8).reshape(shape)
        errors.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines() or [""]
    if process.returncode:
        raise UserError(f"{original} cannot play the original: {lines[-1]}")
    result: Any = json.loads(lines[-1])
    rewards, ends = result[0]
    if rewards != played.rewards or any(ends[:-1]):
        raise UserError(f"the original plays {game}, level {played.level}, differently: no film")
