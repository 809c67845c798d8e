"""Many levels at once: a Gymnasium VectorEnv with one emulator per process."""

from __future__ import annotations

import contextlib
import dataclasses
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import msgspec
import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from envs.contract import Infos, Step, row_seeds
from experiment.errors import UserError
from retro_env.config import EnvConfig
from retro_env.contest_env import ContestEnv
from retro_env.integrations import custom_folders
from retro_env.levels import Level, parse_level
from retro_env.protocol import PLAIN, STEP, SharedBatch, receive_message, send_message

CLOSE_SECONDS = 10.0
"""How long workers may take to write their recordings and leave."""


def assign_levels(
    levels: Sequence[Level], *, num_envs: int, rotate_every: int, seed: int, serial: bool = False
) -> list[list[Level]]:
    """The levels that each worker plays, in its order, so that all get the same share.

    rotate_every > 0: every worker plays every level, in one shuffled order, workers starting
    evenly spread over it. 0: each level belongs to one worker, or each worker has one level.
    serial: all play all levels in the given order.
    """
    if not levels or num_envs < 1:
        raise UserError(f"{len(levels)} levels for --num-envs {num_envs}: give one or more of each")
    if serial:
        return [list(levels)] * num_envs
    if rotate_every == 0:
        if len(levels) < num_envs:
            return [[levels[i % len(levels)]] for i in range(num_envs)]
        return [list(levels[i::num_envs]) for i in range(num_envs)]
    shuffled = [levels[i] for i in np.random.default_rng(seed).permutation(len(levels))]
    starts = [i * len(levels) // num_envs for i in range(num_envs)]
    return [shuffled[start:] + shuffled[:start] for start in starts]


def row_starts(
    num_envs: int, seed: int | list[int | None] | None, options: dict[str, Any] | None
) -> list[tuple[int, int | None, Level | None]]:
    """What `reset` is asked for: (row, its seed, its level) of each row that begins anew."""
    options = options or {}
    seeds: Sequence[int | None]
    if isinstance(seed, (int, np.integer)):
        seeds = row_seeds(int(seed), num_envs)
    else:
        seeds = [None] * num_envs if seed is None else seed
    names = options.get("levels", [None] * num_envs)
    assert len(seeds) == len(names) == num_envs, f"{len(seeds)} seeds for {num_envs} workers"
    return [
        (
            i,
            None if (begin := seeds[i]) is None else int(begin),  # NumPy's too
            parse_level(names[i]) if names[i] else None,
        )
        for i in np.flatnonzero(options.get("reset_mask", np.ones(num_envs, bool))).tolist()
    ]


class RetroVectorEnv(VectorEnv):
    """The contract of `envs.VectorEnv` on emulators, each in a process of its own.

    infos["episode_record"] holds arrays [N] (see EpisodeRecord), their mask is
    infos["_episode_record"]. A worker's error or death closes all and raises: UserError or
    RuntimeError.
    """

    saves_states = resets_rows = True

    def __init__(
        self,
        levels: list[list[Level]],
        *,
        config: EnvConfig,
        seed: int,
        rotate_every: int,
        record_dir: Path | None,
    ) -> None:
        self.num_envs = len(levels)
        self.env_spec = config.spec()
        self.metadata = {**ContestEnv.metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = "rgb_array"
        self.single_observation_space = gymnasium.spaces.Box(
            0, 255, config.observation_shape, np.uint8
        )
        self.single_action_space = gymnasium.spaces.Discrete(config.actions)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.seed: int | None = seed
        self.levels = [""] * self.num_envs
        self.stepping: set[int] = set()
        self.sockets: list[socket.socket] = []
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
        """Share memory, start the launcher, wait until every worker has its environment."""
        shape = self.single_observation_space.shape
        assert shape is not None
        pairs = [socket.socketpair() for _ in range(self.num_envs)]
        self.sockets = [ours for ours, _ in pairs]
        theirs = [other for _, other in pairs]
        folder = "/dev/shm" if Path("/dev/shm").is_dir() else None
        with tempfile.TemporaryFile(dir=folder) as file:
            file.truncate(SharedBatch.size(num_envs=self.num_envs, shape=shape))
            memory = mmap.mmap(file.fileno(), 0)
            self.batch = SharedBatch(memory, num_envs=self.num_envs, shape=shape)
            descriptors = [sock.fileno() for sock in theirs]
            root = str(Path(__file__).resolve().parents[1])
            path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
            # A group of its own: Ctrl-C reaches the parent only, which then closes the sockets.
            # Not a session of its own: Linux would share the cores between both evenly.
            self.launcher = subprocess.Popen(
                [sys.executable, "-m", "retro_env.worker"],
                stdin=subprocess.PIPE,
                pass_fds=[*descriptors, file.fileno()],
                env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
                process_group=0,
            )
            assert self.launcher.stdin is not None
            message = {**setup, "sockets": descriptors, "memory": file.fileno()}
            with self.launcher.stdin as stdin:
                stdin.write(msgspec.msgpack.encode(message))
        for sock in theirs:
            sock.close()
        self.workers = [self.receive(i) for i in range(self.num_envs)]

    def receive(self, index: int) -> Any:
        """A worker's answer: None to a plain step. A worker's error or end raises."""
        try:
            if self.sockets[index].recv(1) == PLAIN:
                return None
            status, value = receive_message(self.sockets[index])
        except (EOFError, ConnectionResetError):
            status, value = "ended", None
        if status == "ok":
            return value
        self.close()
        if status == "user-error":
            raise UserError(value)
        where = f"worker {index} ({self.levels[index] or 'starting'})"
        if status == "ended":
            raise RuntimeError(f"{where} ended by itself: killed, out of memory, or a crash above")
        raise RuntimeError(f"{where} failed:\n{value}")

    def send(self, index: int, name: str, argument: Any) -> None:
        """Ask a worker for something other than a step."""
        assert not self.stepping, f"{name} between step_async and step_wait"
        try:
            send_message(self.sockets[index], [name, argument])
        except (BrokenPipeError, ConnectionResetError):
            self.receive(index)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """New episodes -> (observations [N, C, H, W] of all, infos with the levels).

        seed: one for all, or one per worker. Without it, the first reset takes make_vec's.
        options: "reset_mask" bool [N], "levels": see `envs.VectorEnv`. UserError: no such level.
        """
        self.assert_open()
        first = self.seed if seed is None else seed
        starts = row_starts(self.num_envs, first, options)
        for i, begin, level in starts:
            start = {"seed": begin, "level": level and (level.game, level.state)}
            self.send(i, "reset", start)
        self.seed = None
        infos: Infos = {}
        for i, _, _ in starts:
            answer = self.receive(i)
            self.levels[i] = answer["level"]
            if answer["episode"]:
                infos = self._add_info(infos, {"episode_record": answer["episode"]}, i)
        return self.batch.obs.copy(), {**infos, "level": np.array(self.levels, dtype=object)}

    def step_async(self, actions: np.ndarray, part: slice | None = None) -> None:
        """Let every worker take its step, or those of `part`, so that some run while what others
        shall do is still being decided. Errors: ResetNeeded, InvalidAction."""
        self.assert_open()
        numbers = range(self.num_envs)[part or slice(None)]
        if not all(self.levels[i] for i in numbers):
            raise ResetNeeded("call reset() before the first step")
        assert self.stepping.isdisjoint(numbers), "step_async twice without step_wait"
        actions = np.asarray(actions)
        assert actions.shape == (len(numbers),), f"actions {actions.shape} for {len(numbers)}"
        if ((actions < 0) | (actions >= self.env_spec.actions)).any():
            last = self.env_spec.actions - 1
            raise InvalidAction(f"no actions {actions.tolist()}: expected 0 to {last} each")
        self.batch.actions[numbers.start : numbers.stop] = actions
        self.stepping.update(numbers)
        for i in numbers:
            try:
                self.sockets[i].send(STEP)
            except (BrokenPipeError, ConnectionResetError):
                self.receive(i)

    def step_wait(self, part: slice | None = None) -> Step:
        """Collect their answers."""
        rows = part or slice(None)
        numbers = range(self.num_envs)[rows]
        assert self.stepping.issuperset(numbers), "step_wait without step_async"
        reports = {i: report for i in numbers if (report := self.receive(i))}
        self.stepping.difference_update(numbers)
        infos: Infos = {}
        for i, report in reports.items():
            self.levels[i] = report["level"]
            last = self.batch.final_obs[i].copy()
            ended = {"final_obs": last, "episode_record": report["episode"]}
            infos = self._add_info(infos, ended, i)
        batch = self.batch
        return (
            batch.obs[rows].copy(),
            batch.rewards[rows].copy(),
            batch.terminated[rows].copy(),
            batch.truncated[rows].copy(),
            infos,
        )

    def step(self, actions: np.ndarray) -> Step:
        """step_async and step_wait in one."""
        self.step_async(actions)
        return self.step_wait()

    def render(self) -> tuple[np.ndarray, ...]:
        """Every worker's screen now, uint8 [H, W, 3]."""
        self.assert_open()
        for i in range(self.num_envs):
            self.send(i, "render", None)
        found = [self.receive(i) for i in range(self.num_envs)]
        return tuple(np.frombuffer(s["pixels"], np.uint8).reshape(s["shape"]) for s in found)

    def save_states(self) -> list[dict[str, Any]]:
        """Every worker's whole state, for msgpack; `restore_states` continues exactly."""
        for i in range(self.num_envs):
            self.send(i, "save", None)
        return [self.receive(i) for i in range(self.num_envs)]

    def restore_states(self, states: list[dict[str, Any]]) -> np.ndarray:
        """Continue from `save_states`, in an environment of the same make -> observations.

        The workers replay their episodes' frames: seconds for long ones.
        """
        if len(states) != self.num_envs:
            raise UserError(
                f"the saved run has {len(states)} environments, this one {self.num_envs}: "
                "resume with the same --num-envs"
            )
        if any("backend" in state for state in states):
            raise UserError("the saved run was played natively: resume with --backend native")
        for i, state in enumerate(states):
            self.send(i, "restore", state)
        self.levels = [self.receive(i) for i in range(self.num_envs)]
        self.seed = None
        return self.batch.obs.copy()

    def assert_open(self) -> None:
        """A closed environment cannot go on."""
        if self.closed:
            raise RuntimeError("this vector environment is closed: make another")

    def close_extras(self, **kwargs: Any) -> None:
        """Close the sockets: the workers write their recordings and leave."""
        for sock in self.sockets:
            sock.close()
        if self.launcher is None:
            return
        try:
            self.launcher.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            for pid in self.workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.launcher.wait()
