"""Recordings of whole runs: the buttons of every step, from which a replay computes the score."""

import contextlib
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, final

import gymnasium
import msgspec
import numpy as np
import zstandard

from retro_agents.contest.leaderboard.season import SEEDS, Season
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.contest_env import fold
from retro_agents.games.retro.engine import pads_of
from retro_agents.games.retro.native_env import NativeContestEnv, NativeEnv, allowed
from retro_agents.ground.errors import UserError

LARGEST = 2 * SEEDS * 1_000_000 + 10_000
"""Bytes of the largest recording: of the longest runs."""
SUFFIX = ".tape"


class Taped(gymnasium.Wrapper):
    """Writes down the buttons of every step that was played, as `fold` gives them."""

    def __init__(self, season: Season, act: str) -> None:
        contest = NativeContestEnv(
            season.level(act), EnvConfig(), record_dir=None, found=season.cartridge
        )
        super().__init__(contest)
        self.native = contest.native
        self.masks = array("H")

    def step(self, action: np.ndarray) -> Any:
        """One step of the environment."""
        found = super().step(action)
        self.masks.append(fold(action))
        return found


@final
class Run(msgspec.Struct, frozen=True):
    """What the recording of a run proves."""

    score: float
    """The contest's score: the mean return of all episodes, with the last, unfinished one."""
    best: float
    """The highest return of an episode."""
    episodes: int
    finished: int
    """Episodes that reached the act's end."""
    steps: int


def replay(season: Season, act: str, masks: Sequence[int], *, seed: int) -> Run:
    """Play a recording anew. Raises UserError if it is empty or holds buttons that do not exist."""
    if not masks or max(masks) >= 1 << 12:
        raise UserError(f"the recording of {act} is empty or holds buttons that no pad has")
    config = EnvConfig().with_raw_rewards()
    env = NativeEnv(
        season.level(act), config, record_dir=None, pictures=False, found=season.cartridge
    )
    games, game, ended = env.rows.games, env.game, []
    pads, held = games.settings["pads"], {mask: pads_of(allowed(mask)) for mask in set(masks)}
    env.reset(seed=season.sticky_seed(act, seed))
    game["action"], over = 0, False
    for mask in masks:
        if over:
            env.reset()
        pads[0] = held[mask]
        games.advance()
        over = bool(game["terminated"] or game["truncated"])
        if over:
            ended.append(env.episode())
    if not over:
        ended.append(env.episode())
    returns = [float(one["r"]) for one in ended]
    finished = sum(bool(one["finished"]) for one in ended)
    score = sum(returns) / len(returns)
    return Run(score, max(returns), len(returns), finished, len(masks))


def write_tape(path: Path, runs: Sequence[array]) -> None:
    """Write the runs of an act, one per seed: arrays of uint16, little-endian, in msgpack, in
    zstandard."""
    packed = msgspec.msgpack.encode([np.array(run, "<u2").tobytes() for run in runs])
    path.write_bytes(zstandard.ZstdCompressor(level=19).compress(packed))


def read_tape(path: Path) -> list[array]:
    """The runs of an act. Raises UserError if the file is damaged or none."""
    with contextlib.suppress(
        OSError, zstandard.ZstdError, msgspec.MsgspecError, ValueError, MemoryError
    ):
        data = path.read_bytes()
        if not 0 < zstandard.frame_content_size(data) <= LARGEST:
            raise ValueError
        packed = zstandard.ZstdDecompressor().decompress(data)
        runs = msgspec.msgpack.decode(packed, type=list[bytes])
        return [array("H", np.frombuffer(run, "<u2").tolist()) for run in runs]
    raise UserError(f"{path} is no recording, or a damaged one: score the entry anew")
