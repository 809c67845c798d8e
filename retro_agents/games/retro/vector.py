"""A vector environment with one emulator per process."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from retro_agents.contract.envs import Infos, Step, check_options, seeds_of_rows
from retro_agents.contract.rows import VectorBase
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.contest_env import metadata_of
from retro_agents.games.retro.integrations import custom_folders
from retro_agents.games.retro.levels import Level, parse_level
from retro_agents.ground.errors import UserError
from retro_agents.run.agents import with_this_project

CLOSE_SECONDS = 10.0
"""Time that workers have to write their recordings and exit."""

Seeds = int | Sequence[int | None] | None
"""A seed for all rows, or one for each of them."""


def assign_levels(
    levels: Sequence[Level], *, num_envs: int, rotate_every: int, seed: int
) -> list[list[Level]]:
    """The levels that each worker plays, in order, so that all levels get the same share.

    rotate_every > 0: every worker plays all levels in one shuffled order; the workers' starts are
    spread evenly over it. 0: each level belongs to one worker, or each worker has one level.
    """
    if not levels or num_envs < 1:
        raise UserError(f"{len(levels)} levels for --num-envs {num_envs}: give one or more of each")
    if rotate_every < 0:
        raise UserError(f"rotate_every {rotate_every}: expected agent steps, or 0 for never")
    if rotate_every == 0:
        if len(levels) < num_envs:
            return [[levels[i % len(levels)]] for i in range(num_envs)]
        return [list(levels[i::num_envs]) for i in range(num_envs)]
    shuffled = [levels[i] for i in np.random.default_rng(seed).permutation(len(levels))]
    starts = [i * len(levels) // num_envs for i in range(num_envs)]
    return [shuffled[start:] + shuffled[:start] for start in starts]


def row_starts(
    num_envs: int, seed: Seeds, options: dict[str, Any] | None
) -> list[tuple[int, int | None, Level | None]]:
    """Parses the arguments of `reset`: (row, its seed, its level) of each row to reset. Raises
    ValueError if the mask is not bool [N], if levels or seeds are not N, or if there are other
    options."""
    check_options(options, "reset_mask", "levels")
    options = options or {}
    seeds = seeds_of_rows(seed, num_envs)
    names = options.get("levels", [None] * num_envs)
    if isinstance(names, str) or len(names) != num_envs:
        raise ValueError(f"options['levels'] is {names!r}: expected a list of {num_envs} levels")
    mask = np.asarray(options.get("reset_mask", np.ones(num_envs, bool)))
    if mask.dtype != bool or mask.shape != (num_envs,):
        got = f"{mask.dtype} {list(mask.shape)}"
        raise ValueError(f"options['reset_mask'] is {got}: expected bool [{num_envs}]")
    rows = np.flatnonzero(mask).tolist()
    return [(i, seeds[i], parse_level(str(names[i])) if names[i] else None) for i in rows]


class RetroVectorEnv(VectorBase):
    """A `contract.envs.VectorEnv` on emulators, each in a process of its own.

    Parent and workers exchange messages in msgpack: [command, argument] and [status, answer].

    infos["episode_record"] holds arrays [N] (see EpisodeRecord), and infos["_episode_record"] their
    mask. If a worker fails or dies, all are closed, and UserError or RuntimeError is raised.
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
    ) -> None:
        super().__init__(len(levels), config.spec())
        self.metadata |= metadata_of(config.frame_skip)
        self.render_mode = "rgb_array"
        self.seeds = [*seed]
        self.obs = np.zeros((self.num_envs, *self.env_spec.observation_shape), np.uint8)
        self.stepping: set[int] = set()
        self.connections: list[Connection] = []
        self.launcher: subprocess.Popen[bytes] | None = None
        self.workers: list[int] = []
        self.start_workers(
            {
                "levels": [[(level.game, level.state) for level in row] for row in levels],
                "config": dataclasses.asdict(config),
                "rotate_every": rotate_every,
                "custom_folders": custom_folders(),
                "record_dir": None if record_dir is None else str(record_dir.absolute()),
            }
        )

    def start_workers(self, setup: dict[str, Any]) -> None:
        """Start the launcher, and wait until every worker has its environment."""
        pairs = [Pipe() for _ in range(self.num_envs)]
        self.connections = [ours for ours, _ in pairs]
        descriptors = [theirs.fileno() for _, theirs in pairs]
        # In a process group of its own, Ctrl-C reaches only the parent, which closes connections.
        # In a session of its own, Linux would divide the cores evenly between both sessions.
        self.launcher = subprocess.Popen(
            [sys.executable, "-m", "retro_agents.games.retro.worker"],
            stdin=subprocess.PIPE,
            pass_fds=descriptors,
            env={**os.environ, **with_this_project(), "OMP_NUM_THREADS": "1"},
            process_group=0,
        )
        assert self.launcher.stdin is not None
        with self.launcher.stdin as stdin:
            # Not as msgpack, which lacks the names of folders that are not UTF-8.
            stdin.write(json.dumps({**setup, "connections": descriptors}).encode())
        for _, theirs in pairs:
            theirs.close()
        self.workers = [self.receive(i) for i in range(self.num_envs)]

    def receive(self, index: int) -> Any:
        """Returns a worker's answer. Raises its UserError, UserError if it died, or RuntimeError if
        it failed."""
        try:
            status, value = msgspec.msgpack.decode(self.connections[index].recv_bytes())
        except (EOFError, OSError):
            status, value = "ended", None
        if status == "ok":
            return value
        self.close()
        if status == "user-error":
            raise UserError(value)
        where = f"worker {index} ({self.levels[index] or 'starting'})"
        if status == "ended":
            raise UserError(f"{where} ended by itself: killed, out of memory, or a crash above")
        raise RuntimeError(f"{where} failed:\n{value}")

    def send(self, index: int, name: str, argument: Any) -> None:
        """Send a command to a worker."""
        try:
            self.connections[index].send_bytes(msgspec.msgpack.encode([name, argument]))
        except (BrokenPipeError, ConnectionResetError):
            self.receive(index)

    def ask(self, name: str, arguments: Mapping[int, Any]) -> list[Any]:
        """Send a command other than a step to some workers. Returns their answers."""
        self.assert_open()
        assert not self.stepping, f"{name} between step_async and step_wait"
        try:
            for index, argument in arguments.items():
                self.send(index, name, argument)
            return [self.receive(index) for index in arguments]
        except KeyboardInterrupt:  # the next command would get these answers
            self.close()
            raise

    def image(self, pixels: bytes) -> np.ndarray:
        """Converts a received observation to uint8 [C, H, W], read-only."""
        return np.frombuffer(pixels, np.uint8).reshape(self.obs.shape[1:])

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin new episodes. Returns (observations [N, C, H, W] of all, infos with the levels).

        seed: one for all, or one per worker; by default, a worker's first reset uses make_vec's.
        options: "reset_mask" bool [N], "levels": see `contract.envs.VectorEnv`. Raises UserError
        for an unknown level.
        """
        first = self.seeds if seed is None else seed
        starts = {
            i: {"seed": begin, "level": level and (level.game, level.state)}
            for i, begin, level in row_starts(self.num_envs, first, options)
        }
        answers = self.ask("reset", starts)
        infos: Infos = {}
        for i, answer in zip(starts, answers, strict=True):
            self.seeds[i] = None
            self.obs[i], self.levels[i] = self.image(answer["obs"]), answer["level"]
            if answer["episode"]:
                infos = self._add_info(infos, {"episode_record": answer["episode"]}, i)
        return self.obs.copy(), {**infos, "level": np.array(self.levels, dtype=object)}

    def step_async(self, actions: np.ndarray, part: slice | None = None) -> None:
        """Begin a step of all workers, or of those in `part`, so that some run while the actions of
        others are still being chosen. Raises ResetNeeded or InvalidAction."""
        self.assert_open()
        numbers = range(self.num_envs)[part or slice(None)]
        if not all(self.levels[i] for i in numbers):
            raise ResetNeeded("call reset() before the first step")
        assert self.stepping.isdisjoint(numbers), "step_async twice without step_wait"
        played = self.checked(actions, len(numbers)).tolist()
        self.stepping.update(numbers)
        for i, action in zip(numbers, played, strict=True):
            self.send(i, "step", action)

    def step_wait(self, part: slice | None = None) -> Step:
        """Collect the workers' answers."""
        rows = part or slice(None)
        numbers = range(self.num_envs)[rows]
        assert self.stepping.issuperset(numbers), "step_wait without step_async"
        answers = [self.receive(i) for i in numbers]
        self.stepping.difference_update(numbers)
        infos: Infos = {}
        for i, (pixels, *_, ended) in zip(numbers, answers, strict=True):
            self.obs[i] = self.image(pixels)
            if ended:
                self.levels[i] = ended["level"]
                final = {"final_obs": self.image(ended["final_obs"]).copy()}
                infos = self._add_info(infos, {**final, "episode_record": ended["episode"]}, i)
        rewards = np.array([answer[1] for answer in answers], np.float64)
        terminated, truncated = (np.array([a[k] for a in answers], bool) for k in (2, 3))
        return self.obs[rows].copy(), rewards, terminated, truncated, infos

    def render(self) -> tuple[np.ndarray, ...]:
        """The current screen of every worker, uint8 [H, W, 3]."""
        screens = self.ask("render", dict.fromkeys(range(self.num_envs)))
        return tuple(np.frombuffer(s["pixels"], np.uint8).reshape(s["shape"]) for s in screens)

    def variables(self) -> dict[str, NDArray[np.int64]]:
        """See NativeVectorEnv's; also `engine.CONSOLE_ONLY`. Of several games, those of all."""
        rows = self.ask("variables", dict.fromkeys(range(self.num_envs)))
        shared = [name for name in rows[0] if all(name in row for row in rows)]
        return {name: np.array([row[name] for row in rows], np.int64) for name in shared}

    def save_states(self) -> list[dict[str, Any]]:
        """Every worker's whole state, for msgpack; `restore_states` resumes exactly."""
        return self.ask("save", dict.fromkeys(range(self.num_envs)))

    def restore_states(self, states: list[dict[str, Any]]) -> np.ndarray:
        """Resume from `save_states`, with the same settings. Returns observations.

        The workers replay their episodes' frames, which takes seconds for long ones.
        """
        self.check_states(states)
        if any("backend" in state for state in states):
            raise UserError("the saved run was played natively: resume with --backend native")
        self.levels = self.ask("restore", dict(enumerate(states)))
        self.obs[:] = [self.image(state["obs"]) for state in states]
        self.seeds = [None] * self.num_envs
        return self.obs.copy()

    def close_extras(self, **kwargs: Any) -> None:
        """Close the connections, so that the workers write their recordings and exit."""
        for connection in self.connections:
            connection.close()
        if self.launcher is None:
            return
        try:
            self.launcher.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            for pid in self.workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.launcher.wait()
