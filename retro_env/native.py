"""Environments without an emulator: BrambleDash's levels, equal to the emulator's step for step."""

from __future__ import annotations

import itertools
import os
import threading
import zipfile
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from envs.contract import Infos, Step
from experiment.errors import UserError
from experiment.files import make_folder
from retro_env.config import ACTIONS, EnvConfig
from retro_env.engine import POINTS, Games, cartridge
from retro_env.integrations import state_bytes
from retro_env.levels import Level
from retro_env.registered import METADATA
from retro_env.vector import row_starts
from retro_env.wrappers import Turns, episode_record

GAMES_A_THREAD = 32
"""Fewer are stepped sooner by one thread: handing them over takes longer than they do."""
LOG_KEY = (
    "[Input]\nP1 Z|P1 X|P1 Y|P1 C|P1 Right|P1 Left|P1 Down|P1 Up|P1 Start|P1 Mode|P1 A|P1 B|\n"
)
HEADER = (
    "MovieVersion Retro\nAuthor ?\nemuVersion ?\nPlatform GEN\nGameName {game}\nSHA1 ?\nCore ?\n"
    "rerecordCount 1\n"
)


class Recorder:
    """Writes an environment's episodes as .bk2 files that the emulator plays back.

    An episode that was begun without a recorder, before its state was saved, is left out.
    """

    def __init__(self, folder: Path, config: EnvConfig) -> None:
        make_folder(folder)
        self.folder = folder
        self.actions = ACTIONS[config.actions]
        self.count = 0
        self.level: Level | None = None
        self.held = ""
        self.frames: list[str] = []

    def start(self, level: Level) -> None:
        """The level stands at its first frame."""
        self.stop()
        self.level, self.held, self.frames = level, "", [""]
        self.count += 1

    def step(self, action: int, *, stuck: bool, frames: int) -> None:
        """What an agent step held."""
        names = self.actions[action]
        self.frames += [self.held if stuck else names, *[names] * (frames - 1)]
        self.held = self.held if stuck and frames == 1 else names

    def stop(self) -> None:
        """Write the recording."""
        level, self.level = self.level, None
        if level is None:
            return
        name = f"{level.game}-{level.state}-{self.count - 1:06d}.bk2"
        rows = {held: log_row(held.split()) for held in set(self.frames)}
        log = LOG_KEY + "".join(rows[held] for held in self.frames) + "[/Input]"
        with zipfile.ZipFile(self.folder / name, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("Input Log.txt", log)
            file.writestr("Header.txt", HEADER.format(game=level.game))
            file.writestr("Core.bin", state_bytes(level.game, level.state))

    def save(self) -> dict[str, Any]:
        """What `restore` needs."""
        level = self.level and str(self.level)
        return {"level": level, "count": self.count, "held": self.held, "frames": self.frames}

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on where `save` was called."""
        self.level = Level(*saved["level"].split(":")) if saved["level"] else None
        self.count, self.held, self.frames = saved["count"], saved["held"], list(saved["frames"])


def log_row(buttons: list[str]) -> str:
    """A frame's line: a letter for each button that is held."""
    order = ("Z", "X", "Y", "C", "RIGHT", "LEFT", "DOWN", "UP", "START", "MODE", "A", "B")
    return f"|..|{''.join(name[0] if name in buttons else '.' for name in order)}|\n"


class Rows:
    """Neighbouring environments whose games are in one instance. first: number of their first."""

    def __init__(
        self,
        levels: list[list[Level]],
        *,
        first: int,
        config: EnvConfig,
        rotate_every: int,
        record_dir: Path | None,
    ) -> None:
        self.first, self.end = first, first + len(levels)
        self.config = config
        found = cartridge(levels[0][0].game)
        self.games = Games(found, len(levels), config=config, rotate_every=rotate_every)
        self.turns = [Turns(row, rotate_every) for row in levels]
        self.games.game["rotates"] = [len(row) > 1 for row in levels]
        self.levels = [row[0] for row in levels]
        self.lock = threading.Lock()
        self.actions = np.arange(config.actions, dtype=np.uint8)
        self.recorders = (
            [Recorder(record_dir / f"env-{first + i:02d}", config) for i in range(len(levels))]
            if record_dir
            else []
        )

    def start(self, i: int, level: Level | None = None) -> None:
        """A new episode: on this level, or on the one whose turn it is."""
        turns, game = self.turns[i], self.games.game[i]
        turns.steps = int(game["level_steps"])
        self.levels[i] = turns.next() if level is None else level
        game["level_steps"] = turns.steps
        self.games.start(i, self.levels[i])
        if self.recorders:
            self.recorders[i].start(self.levels[i])

    def episode(self, i: int) -> dict[str, Any]:
        """What is reported of the episode that stands here."""
        game = self.games.game[i]
        return episode_record(
            total=float(game["total"]) * POINTS,
            furthest=float(game["furthest"]) * POINTS,
            steps=int(game["steps"]),
            level=str(self.levels[i]),
            terminated=bool(game["terminated"]),
            rotated=bool(game["rotated"]),
        )

    def step(self, actions: np.ndarray, rows: range, batch: Batch) -> None:
        """A step of these rows, into their batch; where an episode ends, the next begins.
        actions: of all of the batch."""
        low, high = rows.start - self.first, rows.stop - self.first
        here = slice(rows.start - batch.first, rows.stop - batch.first)
        with self.lock:
            games, game = self.games, self.games.game[low:high]
            game["action"] = self.actions[actions[here]]
            games.step(low, high)
            batch.gains[here] = game["gain"]
            batch.terminated[here], batch.truncated[here] = game["terminated"], game["truncated"]
            for i in range(low, high) if self.recorders else ():
                stuck, frames = bool(games.game[i]["stuck"]), int(games.game[i]["frames"])
                self.recorders[i].step(int(games.game[i]["action"]), stuck=stuck, frames=frames)
            for k in np.flatnonzero(batch.terminated[here] | batch.truncated[here]).tolist():
                last, episode = games.observations[low + k].copy(), self.episode(low + k)
                batch.ended[rows.start + k] = {"final_obs": last, "episode_record": episode}
                self.start(low + k)
            batch.obs[here] = games.observations[low:high]

    def save(self, i: int) -> dict[str, Any]:
        """All that a row's next step depends on."""
        games, turns = self.games, self.turns[i]
        return {
            "backend": "native",
            "digest": games.cartridge.digest,
            "backtracking": self.config.backtracking,
            "state": games.states[i].tobytes(),
            "game": games.game[i].tobytes(),
            "obs": games.observations[i].tobytes(),
            "level": str(self.levels[i]),
            "turn": [turns.index, turns.fresh],
            "recording": self.recorders[i].save() if self.recorders else None,
        }

    def restore(self, i: int, saved: dict[str, Any]) -> None:
        """Go on where `save` was called. Errors: UserError."""
        games, turns = self.games, self.turns[i]
        if saved.get("backend") != "native":
            raise UserError("the saved run was played in emulators: add --backend emulator")
        if saved["digest"] != games.cartridge.digest:
            raise UserError(
                f"the saved run played build {saved['digest']} of the game, this is "
                f"{games.cartridge.digest}: resume with the version of this project that began it, "
                "or begin anew with --init"
            )
        if saved["backtracking"] != self.config.backtracking:
            flag = "--backtracking" if saved["backtracking"] else "--no-backtracking"
            raise UserError(f"the saved run was begun with {flag}: resume with the same")
        if len(saved["obs"]) != games.observations[i].nbytes:
            raise UserError("the saved run has pictures of another size: resume with its own")
        games.states[i] = np.frombuffer(saved["state"], np.uint8)
        games.game[i] = np.frombuffer(saved["game"], games.game.dtype)[0]
        games.game[i]["rotates"] = len(turns.levels) > 1
        games.observations[i].reshape(-1)[:] = np.frombuffer(saved["obs"], np.uint8)
        self.levels[i] = Level(*saved["level"].split(":"))
        turns.index, turns.fresh = saved["turn"]
        if self.recorders and saved["recording"]:
            self.recorders[i].restore(saved["recording"])

    def close(self) -> None:
        """Write the recordings."""
        for recorder in self.recorders:
            recorder.stop()


class Batch:
    """What a step of some neighbouring rows gives, and which of their episodes ended."""

    def __init__(self, rows: range, shape: tuple[int, ...]) -> None:
        self.rows, self.first = rows, rows.start
        self.obs = np.empty((len(rows), *shape), np.uint8)
        self.gains = np.empty(len(rows), np.float64)
        self.terminated = np.empty(len(rows), np.bool_)
        self.truncated = np.empty(len(rows), np.bool_)
        self.ended: dict[int, dict[str, Any]] = {}
        self.tasks: list[Future[None]] = []


class NativeVectorEnv(VectorEnv):
    """The contract of `envs.VectorEnv` in this process, on as many threads as pay.

    Interface, rewards, random draws and pictures are those of RetroVectorEnv.
    """

    saves_states = resets_rows = True
    workers: tuple[int, ...] = ()
    """Process ids: there are none."""

    def __init__(
        self,
        levels: list[list[Level]],
        *,
        config: EnvConfig,
        seed: int,
        rotate_every: int,
        record_dir: Path | None,
        threads: int = 0,
    ) -> None:
        self.num_envs = count = len(levels)
        self.env_spec = config.spec()
        self.metadata = {**METADATA, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = "rgb_array"
        self.single_observation_space = gymnasium.spaces.Box(
            0, 255, config.observation_shape, np.uint8
        )
        self.single_action_space = gymnasium.spaces.Discrete(config.actions)
        self.observation_space = batch_space(self.single_observation_space, count)
        self.action_space = batch_space(self.single_action_space, count)
        self.seed: int | None = seed
        self.scale = POINTS * config.reward_scale
        self.levels = [""] * count
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        parts = max(1, min(threads or min(cores or 1, count // GAMES_A_THREAD), count))
        edges = [count * k // parts for k in range(parts + 1)]
        self.parts = [
            Rows(
                levels[a:b],
                first=a,
                config=config,
                rotate_every=rotate_every,
                record_dir=record_dir,
            )
            for a, b in itertools.pairwise(edges)
        ]
        self.pool = ThreadPoolExecutor(parts) if parts > 1 else None
        self.stepping: list[Batch] = []

    def row(self, i: int) -> tuple[Rows, int]:
        """Where an environment is: its rows, and its number among them."""
        part = next(part for part in self.parts if i < part.end)
        return part, i - part.first

    def observations(self) -> np.ndarray:
        """All rows' observations now, a new array."""
        return np.concatenate([part.games.observations for part in self.parts])

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, Infos]:
        """As RetroVectorEnv's."""
        self.assert_idle()
        first, self.seed = self.seed, None
        infos: Infos = {}
        for i, begin, level in row_starts(self.num_envs, first if seed is None else seed, options):
            part, k = self.row(i)
            if level is not None and level.state not in part.games.cartridge.acts:
                raise UserError(f"{level} is not a level of this environment's game")
            if part.games.game[k]["steps"]:
                infos = self._add_info(infos, {"episode_record": part.episode(k)}, i)
            if begin is not None:
                part.games.seed(k, np_random(begin)[0])
            part.start(k, level)
            self.name_levels([i])
        return self.observations(), {**infos, "level": np.array(self.levels, dtype=object)}

    def name_levels(self, rows: Iterable[int]) -> None:
        """What these rows play now."""
        for i in rows:
            part, k = self.row(i)
            self.levels[i] = str(part.levels[k])

    def step_async(self, actions: np.ndarray, part: slice | None = None) -> None:
        """Begin a step of all rows, or of `part`. Errors: ResetNeeded, InvalidAction."""
        rows = range(self.num_envs)[part or slice(None)]
        self.assert_idle(rows)
        actions = np.asarray(actions)
        assert actions.shape == (len(rows),), f"actions {actions.shape} for {len(rows)}"
        if not all(self.levels[rows.start : rows.stop]):
            raise ResetNeeded("call reset() before the first step")
        if ((actions < 0) | (actions >= self.env_spec.actions)).any():
            last = self.env_spec.actions - 1
            raise InvalidAction(f"no actions {actions.tolist()}: expected 0 to {last} each")
        batch = Batch(rows, self.env_spec.observation_shape)
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
        """End it."""
        rows = range(self.num_envs)[part or slice(None)]
        batches = [batch for batch in self.stepping if batch.first in rows]
        waited = [i for batch in batches for i in batch.rows]
        assert sorted(waited) == list(rows), "step_wait without step_async"
        self.stepping = [batch for batch in self.stepping if batch not in batches]
        infos: Infos = {}
        for batch in batches:
            for task in batch.tasks:
                task.result()
            for i in sorted(batch.ended):
                infos = self._add_info(infos, batch.ended[i], i)
                found, k = self.row(i)
                self.levels[i] = str(found.levels[k])
        if len(batches) == 1:
            (batch,) = batches
            obs, gains = batch.obs, batch.gains
            terminated, truncated = batch.terminated, batch.truncated
        else:
            batches.sort(key=lambda batch: batch.first)
            obs, gains, terminated, truncated = (
                np.concatenate([getattr(batch, name) for batch in batches])
                for name in ("obs", "gains", "terminated", "truncated")
            )
        return obs, gains * self.scale, terminated, truncated, infos

    def step(self, actions: np.ndarray) -> Step:
        """step_async and step_wait in one."""
        self.step_async(actions)
        return self.step_wait()

    def render(self) -> tuple[np.ndarray, ...]:
        """Every row's screen now, uint8 [H, W, 3]."""
        self.assert_idle()
        return tuple(p.games.screen(k) for p in self.parts for k in range(len(p.levels)))

    def save_states(self) -> list[dict[str, Any]]:
        """Every row's whole state, for msgpack; `restore_states` continues exactly."""
        self.assert_idle()
        return [part.save(i) for part in self.parts for i in range(len(part.levels))]

    def restore_states(self, states: list[dict[str, Any]]) -> np.ndarray:
        """Continue from `save_states`, in an environment of the same make -> observations."""
        self.assert_idle()
        if len(states) != self.num_envs:
            raise UserError(
                f"the saved run has {len(states)} environments, this one {self.num_envs}: "
                "resume with the same --num-envs"
            )
        for i, state in enumerate(states):
            part, k = self.row(i)
            part.restore(k, state)
        self.name_levels(range(self.num_envs))
        self.seed = None
        return self.observations()

    def assert_idle(self, rows: range | None = None) -> None:
        """Neither closed nor, for these rows or any, between step_async and step_wait."""
        if self.closed:
            raise RuntimeError("this vector environment is closed: make another")
        for batch in self.stepping:
            assert rows is not None, "called between step_async and step_wait"
            assert not set(batch.rows) & set(rows), "step_async twice without step_wait"

    def close_extras(self, **kwargs: Any) -> None:
        """Write the recordings, end the threads."""
        if self.pool is not None:
            self.pool.shutdown()
        for part in self.parts:
            part.close()


class NativeEnv(gymnasium.Env[np.ndarray, Any]):
    """One level for an agent, as make_env's wrappers give it; infos lack what measures the
    console's own time (engine.CONSOLE_ONLY)."""

    metadata = METADATA
    render_mode: str | None

    def __init__(self, level: Level, config: EnvConfig, *, record_dir: Path | None) -> None:
        self.observation_space = gymnasium.spaces.Box(0, 255, config.observation_shape, np.uint8)
        self.action_space = gymnasium.spaces.Discrete(config.actions)
        self.render_mode = "rgb_array"
        self.rows = Rows([[level]], first=0, config=config, rotate_every=0, record_dir=None)
        if record_dir is not None:
            self.rows.recorders = [Recorder(record_dir, config)]
        games = self.rows.games
        self.scale = POINTS * config.reward_scale
        self.game = games.game[0]
        self.variables = games.cartridge.game["variables"].names or ()
        self.closed = False
        self.lacks = "call reset() before the first step"

    def info(self) -> dict[str, Any]:
        """The integration's variables."""
        return dict(zip(self.variables, self.game["variables"].item(), strict=True))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """First observation; infos name the level, and report an episode that this cuts."""
        super().reset(seed=seed)
        if self.closed:
            raise ResetNeeded(self.lacks)
        self.lacks = ""
        game, rows = self.game, self.rows
        cut = {}
        if game["steps"] and not (game["terminated"] or game["truncated"]):
            cut = {"episode_record": rows.episode(0)}
        if seed is not None:
            rows.games.seed(0, self.np_random)
        rows.start(0, (options or {}).get("level"))
        return rows.games.observations[0].copy(), {
            **self.info(),
            "level": str(rows.levels[0]),
            **cut,
        }

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """One agent step. Errors: ResetNeeded (before a reset, after close), InvalidAction."""
        if self.lacks:
            raise ResetNeeded(self.lacks)
        if not 0 <= action < len(self.rows.actions):
            raise InvalidAction(f"no action {action}: expected 0 to {len(self.rows.actions) - 1}")
        game, rows = self.game, self.rows
        game["action"] = rows.actions[action]
        rows.games.advance()
        if rows.recorders:
            frames = int(game["frames"])
            rows.recorders[0].step(int(action), stuck=bool(game["stuck"]), frames=frames)
        info = self.info()
        terminated, truncated = bool(game["terminated"]), bool(game["truncated"])
        if terminated or truncated:
            info["episode_record"] = rows.episode(0)
        obs = rows.games.observations[0].copy()
        return obs, float(game["gain"]) * self.scale, terminated, truncated, info

    def render(self) -> np.ndarray | None:
        """The screen now, uint8 [224, 320, 3]; None without a render_mode, as Gymnasium has it."""
        return self.rows.games.screen(0) if self.render_mode else None

    def close(self) -> None:
        """Write the recording."""
        self.closed, self.lacks = True, "this environment is closed: make another"
        self.rows.close()
