"""BrambleDash games in one instance of the engine, as rows of an environment; recordings."""

from __future__ import annotations

import math
import threading
import zipfile
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np

from retro_agents.games.retro.config import ACTIONS, EnvConfig
from retro_agents.games.retro.engine import POINTS, Cartridge, Games
from retro_agents.games.retro.integrations import state_bytes
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.wrappers import Turns, episode_record
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import drafted, make_folder, next_number, number_of

LOG_KEY = (
    "[Input]\nP1 Z|P1 X|P1 Y|P1 C|P1 Right|P1 Left|P1 Down|P1 Up|P1 Start|P1 Mode|P1 A|P1 B|\n"
)
HEADER = (
    "MovieVersion Retro\nAuthor ?\nemuVersion ?\nPlatform GEN\nGameName {game}\nSHA1 ?\nCore ?\n"
    "rerecordCount 1\n"
)


class Recorder:
    """Writes an environment's episodes as .bk2 files that the emulator plays back.

    Their numbers follow those in the folder. An episode that began without a recorder, before its
    state was saved, is not recorded.
    """

    def __init__(self, folder: Path, config: EnvConfig) -> None:
        make_folder(folder)
        self.folder = folder
        self.actions: tuple[str, ...] = ACTIONS[config.actions]
        self.count = next_number(folder)
        self.again = 0
        """Files below this number are the run's own, which it writes again once resumed."""
        self.level: Level | None = None
        self.held = ""
        self.frames: list[str] = []

    def start(self, level: Level) -> None:
        """Begin a recording at the level's first frame."""
        self.stop()
        self.level, self.held, self.frames = level, "", [""]
        self.count += 1

    def step(self, action: int, *, stuck: bool, frames: int) -> None:
        """Record the buttons of an agent step."""
        names = self.actions[action]
        self.frames += [self.held if stuck else names, *[names] * (frames - 1)]
        self.held = self.held if stuck and frames == 1 else names

    def stop(self) -> None:
        """Write the recording. Raises UserError if it cannot be written."""
        level, self.level = self.level, None
        if level is None:
            return
        name = f"{level.game}-{level.state}"
        number = number_of(self.folder, name, self.count - 1, again=self.again)
        self.count = number + 1
        rows = {held: log_row(held.split()) for held in set(self.frames)}
        log = LOG_KEY + "".join(rows[held] for held in self.frames) + "[/Input]"
        with (
            drafted(self.folder / f"{name}-{number:06d}.bk2") as draft,
            zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as file,
        ):
            file.writestr("Input Log.txt", log)
            file.writestr("Header.txt", HEADER.format(game=level.game))
            file.writestr("Core.bin", state_bytes(level.game, level.state))

    def save(self) -> dict[str, Any]:
        """The state for `restore`."""
        level = self.level and str(self.level)
        return {"level": level, "count": self.count, "held": self.held, "frames": [*self.frames]}

    def restore(self, saved: dict[str, Any]) -> None:
        """Resume where `save` was called."""
        self.level = Level(*saved["level"].split(":")) if saved["level"] else None
        self.count, self.held, self.frames = saved["count"], saved["held"], list(saved["frames"])
        self.again = next_number(self.folder)


def log_row(buttons: list[str]) -> str:
    """A frame's line, with a letter for each held button."""
    order = ("Z", "X", "Y", "C", "RIGHT", "LEFT", "DOWN", "UP", "START", "MODE", "A", "B")
    return f"|..|{''.join(name[0] if name in buttons else '.' for name in order)}|\n"


class Batch:
    """The results of a step of some neighbouring rows, and their ended episodes."""

    def __init__(self, rows: range, shape: tuple[int, ...]) -> None:
        self.rows, self.first = rows, rows.start
        self.obs = np.empty((len(rows), *shape), np.uint8)
        self.gains = np.empty(len(rows), np.float64)
        self.terminated = np.empty(len(rows), np.bool_)
        self.truncated = np.empty(len(rows), np.bool_)
        self.ended: dict[int, dict[str, Any]] = {}
        self.tasks: list[Future[None]] = []


class Rows:
    """Neighbouring environments whose games are in one instance. first: number of the first.
    record_dirs: a folder of recordings for each, or empty."""

    def __init__(
        self,
        levels: list[list[Level]],
        *,
        first: int,
        config: EnvConfig,
        rotate_every: int,
        record_dirs: Sequence[Path],
        cartridge: Cartridge,
        pictures: bool = True,
    ) -> None:
        for level in dict.fromkeys(level for row in levels for level in row):
            if level not in cartridge.acts:  # a state that somebody saved
                raise UserError(f"{level} is no act, only a state: add --backend emulator")
        self.first, self.end = first, first + len(levels)
        self.config = config
        self.games = Games(
            cartridge, len(levels), config=config, rotate_every=rotate_every, pictures=pictures
        )
        self.turns = [Turns(row, rotate_every) for row in levels]
        self.games.game["rotates"] = [len(row) > 1 for row in levels]
        self.levels = [row[0] for row in levels]
        self.lock = threading.Lock()
        one_each = {level.game: level for row in levels for level in row}
        for level in one_each.values() if record_dirs else ():
            state_bytes(level.game, level.state)  # raises UserError if there are no states
        self.recorders = [Recorder(folder, config) for folder in record_dirs]

    def start(self, i: int, level: Level | None = None) -> None:
        """Begin a new episode on this level, or by default on the row's next one."""
        turns, game = self.turns[i], self.games.game[i]
        turns.steps = int(game["level_steps"])
        turns.played = bool(game["steps"])
        if level is not None:
            turns.leave()
        self.levels[i] = turns.next() if level is None else level
        game["level_steps"] = turns.steps
        self.games.start(i, self.levels[i])
        if self.recorders:
            self.recorders[i].start(self.levels[i])

    def episode(self, i: int) -> dict[str, Any]:
        """The record of the current episode."""
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
        """Step these rows, and store the results in their batch; ended episodes are followed by new
        ones. actions: of the whole batch."""
        low, high = rows.start - self.first, rows.stop - self.first
        here = slice(rows.start - batch.first, rows.stop - batch.first)
        with self.lock:
            games, game = self.games, self.games.game[low:high]
            game["action"] = actions[here]
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
            batch.obs[here] = games.observations[low:high, -batch.obs.shape[1] :]

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
            "shape": list(games.observations[i].shape),
            "level": str(self.levels[i]),
            "turn": [turns.index, turns.fresh],
            "recording": self.recorders[i].save() if self.recorders else None,
        }

    def restore(self, i: int, saved: dict[str, Any]) -> None:
        """Resume where `save` was called. Raises UserError if the saved run differs."""
        games, turns = self.games, self.turns[i]
        if saved.get("backend") != "native":
            raise UserError("the saved run was played in emulators: add --backend emulator")
        if saved["digest"] != games.cartridge.digest:
            raise UserError(
                f"the saved run played build {saved['digest']} of the game, this is "
                f"{games.cartridge.digest}: resume with the version of this project that started "
                "it, or start a new run with --init"
            )
        if saved["backtracking"] != self.config.backtracking:
            flag = "--backtracking" if saved["backtracking"] else "--no-backtracking"
            raise UserError(f"the saved run was started with {flag}: resume with the same")
        shape = list(games.observations[i].shape)
        if len(saved["obs"]) != math.prod(shape) or saved.get("shape", shape) != shape:
            raise UserError("the saved run has pictures of another size: resume with the same size")
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
