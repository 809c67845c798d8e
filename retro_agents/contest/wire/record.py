"""The records of a run under contest rules: monitor.csv, log.csv, episodes.csv, result.json.

Each episode is written before the agent learns of its end, so no ended episode is lost when a
process is killed. Files and columns of the first two are those of 2018.
"""

import json
import os
import platform
import time
from pathlib import Path
from typing import Any, final

from retro_agents.games.retro.integrations import rom_hash
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.wrappers import progress_of
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import replace_text
from retro_agents.ground.processes import signals_held
from retro_agents.ground.results import installed

LOG_EVERY = 1000
"""Steps between two rows of log.csv."""
PACKAGES = ("stable-retro", "gymnasium", "numpy", "wasmtime")
TABLES = {
    "monitor.csv": "r,l,t",
    "log.csv": "l,t",
    "episodes.csv": "step,level,r,l,t,progress,finished,complete",
}


@final
class Record:
    """Counts a run's steps and episodes, and records them as they happen.

    monitor.csv: one row per episode, r return, l steps, t seconds since the first reset.
    log.csv: every 1000 steps, l steps of the run, t seconds. result.json: see `result`.
    episodes.csv: as monitor.csv, with the run's step, the furthest progress (0 to 1), whether the
    level's end was reached, and whether the episode is complete or was cut by the run's end.

    Signals are delayed while a method works. Lines that could not be written, such as to a full
    disk, are kept, and `finish` writes them.
    """

    def __init__(self, folder: Path, *, facts: dict[str, Any]) -> None:
        """facts: contents of result.json besides the counts. Raises UserError."""
        self.folder = folder
        self.facts = facts
        self.start: float | None = None
        self.ended: str | None = None
        self.steps = self.episodes = self.finished = self.episode_steps = 0
        self.total = self.episode_return = self.episode_furthest = 0.0
        self.best: float | None = None
        for name in (*TABLES, "result.json"):
            if (folder / name).exists():
                raise UserError(
                    f"{folder / name} exists: records are not overwritten; give another folder"
                )
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.files = {name: (folder / name).open("xb", buffering=0) for name in TABLES}
            self.unwritten = {
                name: bytearray(f"{head}\n".encode()) for name, head in TABLES.items()
            }
            self.write()
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
        """One step was played. Raises OSError."""
        with signals_held():
            self.steps += 1
            self.episode_steps += 1
            self.episode_return += reward
            self.episode_furthest = max(self.episode_furthest, self.episode_return)
            logged = self.steps % LOG_EVERY == 0
            if logged:
                self.add("log.csv", f"{self.steps},{self.seconds():.6f}")
            if terminated or truncated:
                self.end_episode(terminated=terminated)
            if logged or terminated or truncated:
                self.write()

    def end_episode(self, *, terminated: bool = False, complete: bool = True) -> None:
        """Count the current episode, and begin another."""
        progress, finished = progress_of(self.episode_furthest, terminated=terminated)
        reached = self.episode_return
        row = f"{reached!r},{self.episode_steps},{self.seconds():.6f}"
        start = f"{self.steps},{self.facts.get('level', '')}"
        self.add("monitor.csv", row)
        self.add("episodes.csv", f"{start},{row},{progress:.6f},{finished:d},{complete:d}")
        self.episodes += 1
        self.finished += finished
        self.total += reached
        self.best = reached if self.best is None else max(self.best, reached)
        self.episode_steps, self.episode_return, self.episode_furthest = 0, 0.0, 0.0

    def add(self, name: str, row: str) -> None:
        """Queue a row for a file."""
        self.unwritten[name] += f"{row}\n".encode()

    def write(self) -> None:
        """Write the queued rows to the system, which keeps them if this process dies, and replace
        result.json in one step, so that readers never see half of it. Raises OSError."""
        for name, rows in self.unwritten.items():
            while rows:
                del rows[: os.write(self.files[name].fileno(), rows)]
        replace_text(self.folder / "result.json", json.dumps(self.result(), indent=2) + "\n")

    def finish(self, ended: str) -> None:
        """End the run: the unfinished episode counts with the return it has reached.

        May be called again if a call failed; the first reason is kept. Raises OSError.
        """
        with signals_held():
            self.ended = self.ended or ended
            if self.episode_steps:
                self.end_episode(complete=False)
            self.write()
            for file in self.files.values():
                file.close()

    def result(self) -> dict[str, Any]:
        """The content of result.json.

        mean_return: the contest's score, over all episodes including the current one; null before
        the first step. finished: episodes that reached the level's end. ended: null while the run
        continues, and permanently if it was killed.
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


def run_facts(level: Level, *, seed: int, backend: str) -> dict[str, Any]:
    """The level, seed, back end and versions of a run, for result.json."""
    versions = {name: installed(name) or "not installed" for name in PACKAGES}
    return {
        "level": str(level),
        "seed": seed,
        "backend": backend,
        "rom_sha1": rom_hash(level.game),
        "versions": {"python": platform.python_version(), **versions},
    }
