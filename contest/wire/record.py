"""What a run under contest rules leaves behind: monitor.csv, log.csv, episodes.csv, result.json.

Each episode is in the files before the agent hears of its end, so whatever is killed, and when,
no ended episode is lost. Files and columns of the first two are those of 2018.
"""

import hashlib
import importlib.metadata
import json
import os
import platform
import time
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple, final

from stable_retro import data

from experiment.errors import UserError
from experiment.files import replace_text
from retro_env.integrations import games
from retro_env.levels import Level
from retro_env.wrappers import CONTEST_PROGRESS

LOG_EVERY = 1000
"""Steps between two rows of log.csv."""
PACKAGES = ("stable-retro", "gymnasium", "numpy")
TABLES = {
    "monitor.csv": "r,l,t",
    "log.csv": "l,t",
    "episodes.csv": "step,level,r,l,t,progress,finished,complete",
}
FILES = (*TABLES, "result.json")


class Counts(NamedTuple):
    """What a run has come to. It is replaced as a whole: a signal finds the old one or the new.

    ends: bytes written to each of the CSV files. episode_…: of the episode under way.
    """

    ends: tuple[int, ...]
    steps: int = 0
    episodes: int = 0
    finished: int = 0
    total: float = 0.0
    best: float | None = None
    episode_steps: int = 0
    episode_return: float = 0.0
    episode_furthest: float = 0.0


class Change(NamedTuple):
    """Lines for each of the CSV files, and what the counts are with them."""

    lines: tuple[bytes, ...]
    counts: Counts


@final
class Record:
    """Counts a run's steps and episodes, and writes them down as they happen.

    monitor.csv: one row per episode, r return, l steps, t seconds since the first reset.
    log.csv: every 1000 steps, l steps of the run, t seconds. result.json: see `result`.
    episodes.csv: as monitor.csv, with the run's step, the furthest progress (0 to 1), whether the
    level's end was reached, and whether the episode is complete or was cut by the run's end.

    A signal's exception may come anywhere in here, and a disk may be full: what was to be written
    is kept as `change` until it is, and `finish` writes it again, the same bytes at the same place.
    """

    def __init__(self, folder: Path, *, facts: dict[str, Any]) -> None:
        """facts: what result.json says besides the counts. Errors: UserError."""
        self.folder = folder
        self.facts = facts
        self.start: float | None = None
        self.ended: str | None = None
        self.change: Change | None = None
        for name in FILES:
            if (folder / name).exists():
                raise UserError(
                    f"{folder / name} exists: records are not overwritten; give another folder"
                )
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.files = [(folder / name).open("xb", buffering=0) for name in TABLES]
            self.counts = Counts((0,) * len(TABLES))
            self.commit(Change(tuple(map(as_line, TABLES.values())), self.counts))
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
        old = self.counts
        reached = old.episode_return + reward
        new = old._replace(
            steps=old.steps + 1,
            episode_steps=old.episode_steps + 1,
            episode_return=reached,
            episode_furthest=max(old.episode_furthest, reached),
        )
        log = b""
        if new.steps % LOG_EVERY == 0:
            log = as_line(f"{new.steps},{self.seconds():.6f}")
        if terminated or truncated:
            self.commit(self.episode_end(new, log=log, terminated=terminated))
        elif log:
            self.commit(Change((b"", log, b""), new))
        else:
            self.counts = new

    def episode_end(
        self, counts: Counts, *, log: bytes = b"", terminated: bool = False, complete: bool = True
    ) -> Change:
        """What ends the episode under way. log: the line for log.csv."""
        # Per-frame rewards are single precision: their sum may miss 9000 by a little.
        progress = min(counts.episode_furthest / CONTEST_PROGRESS, 1.0)
        finished = terminated and progress > 0.9999
        reached = counts.episode_return
        row = f"{reached!r},{counts.episode_steps},{self.seconds():.6f}"
        start = f"{counts.steps},{self.facts.get('level', '')}"
        ends = f"{progress:.6f},{finished:d},{complete:d}"
        new = Counts(
            ends=counts.ends,
            steps=counts.steps,
            episodes=counts.episodes + 1,
            finished=counts.finished + finished,
            total=counts.total + reached,
            best=reached if counts.best is None else max(counts.best, reached),
        )
        return Change((as_line(row), log, as_line(f"{start},{row},{ends}")), new)

    def commit(self, change: Change) -> None:
        """Write a change to the files and to result.json. Errors: OSError."""
        self.change = change
        self.settle()
        self.write_result()

    def settle(self) -> None:
        """Write to the CSV files what is not there yet. Errors: OSError."""
        if self.change is None:
            return
        lines, new = self.change
        for file, line, at in zip(self.files, lines, new.ends, strict=True):
            write_at(file, line, at)
        ends = tuple(at + len(line) for line, at in zip(lines, new.ends, strict=True))
        self.counts = new._replace(ends=ends)
        self.change = None

    def finish(self, ended: str) -> None:
        """The run is over: the unfinished episode counts with what it reached.

        May be called again, where the first call was interrupted; its word stays. Errors: OSError.
        """
        self.ended = self.ended or ended
        self.settle()
        if self.counts.episode_steps:
            self.commit(self.episode_end(self.counts, complete=False))
        self.write_result()
        for file in self.files:
            file.close()

    def result(self) -> dict[str, Any]:
        """The content of result.json.

        mean_return: the contest's score, of all episodes and the one under way; null before
        the first step. finished: episodes that reached the level's end. ended: null while the
        run goes on, and for ever if it was killed.
        """
        counts = self.counts
        under_way = counts.episode_steps > 0
        episodes = counts.episodes + under_way
        total = counts.total + counts.episode_return
        returns = [] if counts.best is None else [counts.best]
        returns += [counts.episode_return] if under_way else []
        return {
            **self.facts,
            "mean_return": total / episodes if episodes else None,
            "best_return": max(returns, default=None),
            "episodes": episodes,
            "finished": counts.finished,
            "steps": counts.steps,
            "seconds": round(self.seconds(), 3),
            "ended": self.ended,
        }

    def write_result(self) -> None:
        """Replace result.json in one step, so that a reader never sees a half. Errors: OSError."""
        replace_text(self.folder / "result.json", json.dumps(self.result(), indent=2) + "\n")


def as_line(text: str) -> bytes:
    """A row as it lies in a file."""
    return f"{text}\n".encode()


def write_at(file: FileIO, data: bytes, at: int) -> None:
    """Hand bytes to the system, which keeps them when this process dies. Errors: OSError."""
    while data:
        written = os.pwrite(file.fileno(), data, at)
        data, at = data[written:], at + written


def run_facts(level: Level, *, seed: int) -> dict[str, Any]:
    """What was played with what, for result.json."""
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {
        "level": str(level),
        "seed": seed,
        "backend": "emulator",  # the contest's side (make_contest_env) is always played in it
        "rom_sha1": rom_hash(level.game),
        "versions": {"python": platform.python_version(), **versions},
    }


def rom_hash(game: str) -> str:
    """SHA-1 of a game's ROM."""
    rom = Path(data.get_original_romfile_path(game, games()[game]))
    return hashlib.sha1(rom.read_bytes()).hexdigest()
