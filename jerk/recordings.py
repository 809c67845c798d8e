"""The .bk2 files of a JERK run."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from retro_agents.ground.files import next_number

FOLDER = "recordings"
"""Folder of the .bk2 files in the run's folder."""


class Recordings:
    """The folder given to `make_vec(record_dir=…)`, with one file per episode and emulator. Each
    level's best episode is kept, and those in which sequences were found."""

    def __init__(self, folder: Path, num_envs: int) -> None:
        self.folder = folder
        self.episodes = [next_number(folder / f"env-{env:02d}") for env in range(num_envs)]
        """Number of the current episode of each environment."""
        self.best: dict[str, tuple[float, str]] = {}
        """Return and file of each level's best episode."""

    def ended(self, env: int, level: str, value: float) -> str:
        """Called when an episode with that return has ended and its environment has begun the next
        -> its file in the folder."""
        number, self.episodes[env] = self.episodes[env], self.episodes[env] + 1
        name = f"env-{env:02d}/{level.replace(':', '-')}-{number:06d}.bk2"
        if level not in self.best or value > self.best[level][0]:
            self.best[level] = (value, name)
        return name

    def prune(self, names: Collection[str]) -> None:
        """Removes the recordings of ended episodes, except these and the best. To be called after
        a checkpoint was written: a run resumed from the one before may need all there were."""
        needed = {*names, *(name for _, name in self.best.values())}
        for env, ended in enumerate(self.episodes):
            for path in (self.folder / f"env-{env:02d}").glob("*.bk2"):
                number = path.stem.rpartition("-")[2]
                over = number.isdecimal() and int(number) < ended
                if over and path.relative_to(self.folder).as_posix() not in needed:
                    path.unlink()

    def save(self) -> dict[str, Any]:
        """Its state for msgpack."""
        return {"episodes": self.episodes, "best": self.best}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Restore what `save` returned."""
        self.episodes, self.best = saved["episodes"], saved["best"]
