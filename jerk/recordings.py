"""Keeps the recording (.bk2) of the best episode of each level, of all that the emulators make."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Recordings:
    """The folder given to `make_vec(record_dir=…)`; it gets one file per episode and emulator."""

    def __init__(self, folder: Path, num_envs: int) -> None:
        self.folder = folder
        self.episodes = [0] * num_envs
        """Episodes that have ended in each environment: the next one's number."""
        self.best: dict[str, tuple[float, str]] = {}
        """Return and file of each level's best episode."""

    def ended(self, env: int, level: str, value: float) -> None:
        """An episode of that return has ended, and its environment has begun the next."""
        number, self.episodes[env] = self.episodes[env], self.episodes[env] + 1
        name = f"env-{env:02d}/{level.replace(':', '-')}-{number:06d}.bk2"
        before = self.best.get(level)
        if before is not None and value <= before[0]:
            (self.folder / name).unlink(missing_ok=True)
            return
        if before is not None:
            (self.folder / before[1]).unlink(missing_ok=True)
        self.best[level] = (value, name)

    def save(self) -> dict[str, Any]:
        """For msgpack."""
        best = {level: list(pair) for level, pair in self.best.items()}
        return {"episodes": list(self.episodes), "best": best}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Become what was saved."""
        self.episodes = list(saved["episodes"])
        self.best = {level: (pair[0], pair[1]) for level, pair in saved["best"].items()}
