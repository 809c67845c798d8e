"""What a run under contest rules leaves behind: monitor.csv, log.csv, episodes.csv, result.json.

Each episode is in the files before the agent hears of its end, so whatever is killed, and when,
no ended episode is lost. Files and columns of the first two are those of 2018.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import time
from pathlib import Path
from typing import Any, TextIO, final

from stable_retro import data

from experiment.errors import UserError
from retro_env.integrations import games
from retro_env.levels import Level
from retro_env.wrappers import CONTEST_PROGRESS

LOG_EVERY = 1000
"""Steps between two rows of log.csv."""
PACKAGES = ("stable-retro", "gymnasium", "numpy")
FILES = ("monitor.csv", "log.csv", "episodes.csv", "result.json")


@final
class Record:
    """Counts a run's steps and episodes, and writes them down as they happen.

    monitor.csv: one row per episode, r return, l steps, t seconds since the first reset.
    log.csv: every 1000 steps, l steps of the run, t seconds. result.json: see `result`.
    episodes.csv: as monitor.csv, with the run's step, the furthest progress (0 to 1), whether the
    level's end was reached, and whether the episode is complete or was cut by the run's end.
    """

    def __init__(self, folder: Path, *, facts: dict[str, Any]) -> None:
        """facts: what result.json says besides the counts. Errors: UserError."""
        self.folder = folder
        self.facts = facts
        self.start: float | None = None
        self.ended: str | None = None
        self.steps = self.episodes = self.finished = 0
        self.total = 0.0
        self.best: float | None = None
        self.episode_steps = 0
        self.episode_return = self.episode_furthest = 0.0
        for name in FILES:
            if (folder / name).exists():
                raise UserError(
                    f"{folder / name} exists: records are not overwritten; give another folder"
                )
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.monitor = create(folder / "monitor.csv", "r,l,t")
            self.log = create(folder / "log.csv", "l,t")
            columns = "step,level,r,l,t,progress,finished,complete"
            self.table = create(folder / "episodes.csv", columns)
            self.write_result()
        except OSError as error:
            raise UserError(f"cannot write records to {folder}: {error.strerror}") from None

    def seconds(self) -> float:
        """Time since the first reset."""
        return 0.0 if self.start is None else time.monotonic() - self.start

    def reset(self) -> None:
        """An episode begins."""
        if self.start is None:
            self.start = time.monotonic()

    def step(self, reward: float, *, terminated: bool, truncated: bool) -> None:
        """One step was played."""
        self.steps += 1
        self.episode_steps += 1
        self.episode_return += reward
        self.episode_furthest = max(self.episode_furthest, self.episode_return)
        if self.steps % LOG_EVERY == 0:
            append(self.log, f"{self.steps},{self.seconds():.6f}")
        if terminated or truncated:
            self.end_episode(terminated=terminated)
        elif self.steps % LOG_EVERY == 0:
            self.write_result()

    def end_episode(self, *, terminated: bool = False, complete: bool = True) -> None:
        """Write the episode under way to the files."""
        # Per-frame rewards are single precision: their sum may miss 9000 by a little.
        progress = min(self.episode_furthest / CONTEST_PROGRESS, 1.0)
        finished = terminated and progress > 0.9999
        row = f"{self.episode_return!r},{self.episode_steps},{self.seconds():.6f}"
        append(self.monitor, row)
        ends = f"{progress:.6f},{finished:d},{complete:d}"
        append(self.table, f"{self.steps},{self.facts.get('level', '')},{row},{ends}")
        self.episodes += 1
        self.finished += finished
        self.total += self.episode_return
        reached = self.episode_return
        self.best = reached if self.best is None else max(self.best, reached)
        self.episode_steps = 0
        self.episode_return = self.episode_furthest = 0.0
        self.write_result()

    def finish(self, ended: str) -> None:
        """The run is over: the unfinished episode counts with what it reached."""
        self.ended = ended
        if self.episode_steps:
            self.end_episode(complete=False)
        self.write_result()
        for file in (self.monitor, self.log, self.table):
            file.close()

    def result(self) -> dict[str, Any]:
        """The content of result.json.

        mean_return: the contest's score, of all episodes and the one under way; null before
        the first step. finished: episodes that reached the level's end. ended: null while the
        run goes on, and for ever if it was killed.
        """
        under_way = self.episode_steps > 0
        episodes = self.episodes + under_way
        total = self.total + self.episode_return
        returns = [] if self.best is None else [self.best]
        returns += [self.episode_return] if under_way else []
        return {
            **self.facts,
            "mean_return": total / episodes if episodes else None,
            "best_return": max(returns, default=None),
            "episodes": episodes,
            "finished": self.finished,
            "steps": self.steps,
            "seconds": round(self.seconds(), 3),
            "ended": self.ended,
        }

    def write_result(self) -> None:
        """Replace result.json in one step, so that a reader never sees a half."""
        beside = self.folder / ".result.json"
        beside.write_text(json.dumps(self.result(), indent=2) + "\n", encoding="utf-8")
        beside.replace(self.folder / "result.json")


def create(path: Path, header: str) -> TextIO:
    """A new CSV file with its header. Errors: OSError."""
    file = path.open("x", encoding="utf-8")
    append(file, header)
    return file


def append(file: TextIO, row: str) -> None:
    """One line, handed to the system at once: it outlives this process."""
    file.write(row + "\n")
    file.flush()


def run_facts(level: Level, *, seed: int) -> dict[str, Any]:
    """What was played with what, for result.json."""
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {
        "level": str(level),
        "seed": seed,
        "rom_sha1": rom_hash(level.game),
        "versions": {"python": platform.python_version(), **versions},
    }


def rom_hash(game: str) -> str:
    """SHA-1 of a game's ROM."""
    rom = Path(data.get_original_romfile_path(game, games()[game]))
    return hashlib.sha1(rom.read_bytes()).hexdigest()
