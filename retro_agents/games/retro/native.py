"""BrambleDash's levels without an emulator, identical to the emulator's step for step."""

from __future__ import annotations

import itertools
import os
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray

from retro_agents.contract.envs import Infos, Step
from retro_agents.contract.rows import VectorBase
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.contest_env import metadata_of
from retro_agents.games.retro.engine import POINTS, cartridge
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.native_rows import Batch, Rows
from retro_agents.games.retro.vector import Seeds, row_starts
from retro_agents.ground.cores import free_cores
from retro_agents.ground.errors import UserError

GAMES_A_THREAD = 32
"""Environments for each thread, at least: handing over fewer takes longer than their step."""


class NativeVectorEnv(VectorBase):
    """A `contract.envs.VectorEnv` in this process, with as many threads as pay.

    Interface, rewards, random draws and pictures are those of RetroVectorEnv.
    """

    saves_states = resets_rows = True

    def __init__(
        self,
        levels: list[list[Level]],
        *,
        config: EnvConfig,
        seed: Sequence[int | None],
        rotate_every: int,
        record_dir: Path | None,
        threads: int = 0,
    ) -> None:
        count = len(levels)
        super().__init__(count, config.spec())
        self.metadata |= metadata_of(config.frame_skip)
        self.render_mode = "rgb_array"
        self.seeds = [*seed]
        self.sent_shape = self.env_spec.observation_shape
        self.scale = POINTS * config.reward_scale
        threads = max(1, min(threads or min(free_cores(), count // GAMES_A_THREAD), count))
        # With more parts than threads, half of the environments keeps all threads busy.
        parts = max(threads, min(2 * threads, count // GAMES_A_THREAD)) if threads > 1 else 1
        games = sorted({level.game for row in levels for level in row})
        found = cartridge(*games)
        folders = [record_dir / f"env-{i:02d}" for i in range(count)] if record_dir else []
        edges = [count * k // parts for k in range(parts + 1)]
        self.parts = [
            Rows(
                levels[a:b],
                first=a,
                config=config,
                rotate_every=rotate_every,
                record_dirs=folders[a:b],
                cartridge=found,
            )
            for a, b in itertools.pairwise(edges)
        ]
        self.ends = [part.end for part in self.parts]
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self.process = os.getpid()
        self.stepping: list[Batch] = []

    def row(self, i: int) -> tuple[Rows, int]:
        """Returns the Rows that hold an environment, and its index in them."""
        part = self.parts[bisect_right(self.ends, i)]
        return part, i - part.first

    def observations(self) -> np.ndarray:
        """The current observations of all rows, a new array."""
        return np.concatenate([part.games.observations for part in self.parts])

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, Infos]:
        """As RetroVectorEnv's."""
        self.assert_idle()
        infos: Infos = {}
        starts = row_starts(self.num_envs, self.seeds if seed is None else seed, options)
        for *_, level in starts:
            if level is not None and level not in self.parts[0].games.cartridge.acts:
                raise UserError(f"{level} is not a level of this environment's games")
        for i, begin, level in starts:
            self.seeds[i] = None
            part, k = self.row(i)
            if part.games.game[k]["steps"]:
                infos = self._add_info(infos, {"episode_record": part.episode(k)}, i)
            if begin is not None:
                part.games.seed(k, np_random(begin)[0])
                if level is None:
                    part.turns[k].restart()
                    part.games.game[k]["level_steps"] = 0
            part.start(k, level)
            self.name_levels([i])
        return self.observations(), {**infos, "level": np.array(self.levels, dtype=object)}

    def name_levels(self, rows: Iterable[int]) -> None:
        """Update `levels` for these rows."""
        for i in rows:
            part, k = self.row(i)
            self.levels[i] = str(part.levels[k])

    def step_async(self, actions: np.ndarray, part: slice | None = None) -> None:
        """Begin a step of all rows, or of `part`. Raises ResetNeeded or InvalidAction."""
        rows = range(self.num_envs)[part or slice(None)]
        self.assert_idle(rows)
        if not all(self.levels[rows.start : rows.stop]):
            raise ResetNeeded("call reset() before the first step")
        actions = self.checked(actions, len(rows))
        if self.pool is not None and os.getpid() != self.process:  # would wait for ever
            raise RuntimeError("a forked process has not this environment's threads: make it there")
        batch = Batch(rows, self.sent_shape)
        self.stepping.append(batch)
        for found in self.parts:
            here = range(max(found.first, rows.start), min(found.end, rows.stop))
            if not here:
                continue
            if self.pool is None:
                found.step(actions, here, batch)
            else:
                batch.tasks.append(self.pool.submit(found.step, actions, here, batch))

    def step_wait(self, part: slice | None = None) -> Step:
        """End the step that `step_async` began."""
        rows = range(self.num_envs)[part or slice(None)]
        batches = [batch for batch in self.stepping if batch.first in rows]
        batches.sort(key=lambda batch: batch.first)
        waited = [i for batch in batches for i in batch.rows]
        assert waited == list(rows), "step_wait without step_async"
        self.stepping = [batch for batch in self.stepping if batch not in batches]
        infos: Infos = {}
        for batch in batches:
            for task in batch.tasks:
                task.result()
            for i in sorted(batch.ended):
                infos = self._add_info(infos, batch.ended[i], i)
            self.name_levels(batch.ended)
        arrays: list[Any] = [(b.obs, b.gains, b.terminated, b.truncated) for b in batches]
        if len(arrays) > 1:
            arrays = [tuple(map(np.concatenate, zip(*arrays, strict=True)))]
        obs, gains, terminated, truncated = arrays[0]
        return obs, gains * self.scale, terminated, truncated, infos

    def render(self) -> tuple[np.ndarray, ...]:
        """The current screen of every row, uint8 [H, W, 3]."""
        self.assert_idle()
        return tuple(p.games.screen(k) for p in self.parts for k in range(len(p.levels)))

    def variables(self) -> dict[str, NDArray[np.int64]]:
        """The integration's variables of every row, such as x and lives, int64 [N] each, as the
        infos of a single environment have them. Where an episode ended, they are the next one's."""
        self.assert_idle()
        rows = np.concatenate([part.games.game["variables"] for part in self.parts])
        return {name: rows[name].astype(np.int64) for name in rows.dtype.names or ()}

    def save_states(self) -> list[dict[str, Any]]:
        """Every row's whole state, for msgpack; `restore_states` resumes exactly."""
        self.assert_idle()
        return [part.save(i) for part in self.parts for i in range(len(part.levels))]

    def restore_states(self, states: list[dict[str, Any]]) -> np.ndarray:
        """Resume from `save_states`, with the same settings. Returns observations."""
        self.assert_idle()
        self.check_states(states)
        for i, state in enumerate(states):
            part, k = self.row(i)
            part.restore(k, state)
        self.name_levels(range(self.num_envs))
        self.seeds = [None] * self.num_envs
        return self.observations()

    def send_newest_frames(self) -> None:
        """See `contract.envs.VectorEnv`."""
        self.sent_shape = self.env_spec.channels, *self.sent_shape[1:]

    def assert_idle(self, rows: range | None = None) -> None:
        """Raises RuntimeError if closed; asserts that no step of these rows, or of any, runs."""
        self.assert_open()
        for batch in self.stepping:
            assert rows is not None, "called between step_async and step_wait"
            apart = batch.rows.stop <= rows.start or rows.stop <= batch.rows.start
            assert apart, "step_async twice without step_wait"

    def close_extras(self, **kwargs: Any) -> None:
        """Write the recordings, and end the threads."""
        if self.pool is not None:
            self.pool.shutdown()
        for part in self.parts:
            part.close()
