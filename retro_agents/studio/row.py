"""What a run's row says, by its files alone."""

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from retro_agents.games.retro.bramble import reference_returns
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import step_of
from retro_agents.run.manifest import FORMAT, VERSION
from retro_agents.studio.curves import config_of
from retro_agents.studio.files import (
    TABLES,
    checkpoints_of,
    last_rows,
    newest,
    read_json,
    reason_of,
)

FILES = (*(f"{name}.csv" for name in TABLES), "config.json", "provenance.json", "checkpoints")
"""What a row is made of."""
RECENT = 100
"""Episodes over which the newest return is averaged, as in metrics.csv."""


class Row(msgspec.Struct):
    """What a run's row says. Steps are agent steps, times in seconds."""

    id: str
    """Its folder's path below the studio's, which names the run in every request."""
    state: str = "damaged"
    """running, finished, stopped, killed or damaged."""
    error: str = ""
    agent: str = ""
    levels: str = ""
    seed: int | None = None
    steps: int = 0
    timesteps: int = 0
    speed: float | None = None
    """Agent steps per second of the newest rows."""
    mean: float | None = None
    """Mean return of the last hundred episodes; random, oracle: of these players on the same."""
    random: float | None = None
    oracle: float | None = None
    saved: int | None = None
    """The step of the newest checkpoint."""
    begun: float | None = None
    """When it was first started, in seconds since 1970."""


def described(run: Path, name: str, pid: int) -> Row:
    """A run's row. pid: of the process that writes to it, or 0. Whatever is wrong with its files
    becomes the row's `error`."""
    row = Row(name)
    try:
        describe(row, run, pid)
    except Exception as error:  # whatever its files hold, the others are shown
        row.state, row.error = "damaged", reason_of(error)
    return row


def describe(row: Row, run: Path, pid: int) -> None:
    """Fill a row from a run's files. Raises UserError and others if they are not a run's."""
    config = config_of(run)
    planned = config.get("timesteps", config.get("updates"))  # clones count updates
    if planned is None:
        raise UserError("config.json is not a run's: it has no timesteps")
    starts = history(run)
    first, last = (starts[0], starts[-1]) if starts else ({}, {})
    row.agent = str(first.get("agent", ""))
    row.levels, row.seed = str(config.get("levels", "")), config.get("seed")
    row.timesteps = int(planned)
    last_steps = (newest(run / f"{name}.csv", "step", rows=1) for name in TABLES)
    row.steps = max((int(step) for steps in last_steps for step in steps), default=0)
    if (begun := first.get("begun")) is not None:
        row.begun = datetime.fromisoformat(begun).timestamp()
    saved = checkpoints_of(run)
    row.saved = step_of(saved[-1]) if saved else None
    row.steps = max(row.steps, row.saved or 0)
    if pid:
        row.state = "running"
    elif row.steps >= row.timesteps:
        row.state = "finished"
    else:
        row.state = "stopped" if last.get("ended") else "killed"
    row.speed = speed(run) if pid else None
    row.mean, row.random, row.oracle = returns(run)
    row.error = foreign(saved[-1]) if saved else ""


def history(run: Path) -> list[dict[str, Any]]:
    """The starts of a run, from its provenance.json; [] without one."""
    try:
        found = read_json(run / "provenance.json")
    except FileNotFoundError:
        return []
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise UserError("provenance.json is damaged: it lists no starts")
    return found


def speed(run: Path) -> float | None:
    """Agent steps per second over the newest rows of timing.csv."""
    steps, seconds = newest(run / "timing.csv", "step"), newest(run / "timing.csv", "seconds")
    pairs = list(zip(steps, seconds, strict=False))[-30:]
    since = next((i for i in range(len(pairs) - 1, 0, -1) if pairs[i][1] < pairs[i - 1][1]), 0)
    pairs = pairs[since:]  # of this start alone
    if len(pairs) < 2 or pairs[-1][1] <= pairs[0][1]:
        return None
    return (pairs[-1][0] - pairs[0][0]) / (pairs[-1][1] - pairs[0][1])


def returns(run: Path) -> tuple[float | None, float | None, float | None]:
    """Mean return of the last hundred episodes, and of random play and the oracle on their levels;
    None for what is not known."""
    try:
        header, rows = last_rows(run / "episodes.csv")
        level, r = header.index("level"), header.index("r")
        recent = [(row[level], float(row[r])) for row in rows[-RECENT:]]
    except (FileNotFoundError, ValueError):
        return None, None, None
    if not recent:
        return None, None, None
    others = []
    for player in ("random", "oracle"):
        known = [reference_returns().get((level, player)) for level, _ in recent]
        others.append(None if None in known else fmean(one for one in known if one is not None))
    return fmean(r for _, r in recent), others[0], others[1]


def foreign(checkpoint: Path) -> str:
    """Why this program cannot read a checkpoint; "" if its version is this program's."""
    meta = read_json(checkpoint / "meta.json")
    if meta.get("format") != FORMAT:
        return "its checkpoints are not this project's"
    if meta.get("version") != VERSION:
        found = meta.get("version")
        return f"its checkpoints have format version {found}; this program reads {VERSION}"
    return ""


def mark_of(run: Path, pid: int) -> tuple[Any, ...]:
    """What changes when a run's row may change."""
    found: list[Any] = [pid]
    for name in FILES:
        with suppress(OSError):
            about = os.lstat(f"{run}/{name}")  # quicker than a Path
            found += [about.st_mtime_ns, about.st_size, about.st_ino]
            continue
        found.append(None)
    return tuple(found)
