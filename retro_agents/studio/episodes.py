"""The episodes of a run as a table, and the recordings and films that it left."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.ground.errors import UserError
from retro_agents.studio.curves import Tables, config_of
from retro_agents.studio.row import history

COLUMNS = ("step", "r", "l", "progress", "finished")
ROWS = 100
"""Rows that are sent at a time."""
ENDS = 500
"""Ends of episodes that are sent for a map."""
KINDS = (".mp4", ".bk2")
"""Films and recordings, in the order in which they are listed."""
MOST_FILES = 200
"""Files of each kind that are listed: the last by name, of films the newest."""
MOST_LEVELS = 1_000
"""Levels that can be chosen. With more, as of Procgen, each is played about once."""
Given = Mapping[str, str]


def number(given: Given, name: str, otherwise: float) -> float:
    """A number in a request. Raises UserError if it is not a number."""
    try:
        value = float(given.get(name) or otherwise)
    except ValueError:
        value = np.nan
    if np.isnan(value):
        raise UserError(f"{name}: expected a number")
    return value


def listed(tables: Tables, run: Path, given: Given) -> dict[str, Any]:
    """The episodes that fit what is given, by name: levels (of the run; none if there are many);
    count (rows of the table); total (episodes that fit); rows (of these, from `from` on in the
    given order, each with the name of its recording or ""); ends (level, progress and finished of
    the newest that fit).

    given: level, least and most (return), ended (finished or lost), order (a column), up (1:
    ascending), from, until (a count: later episodes are left out). Raises UserError if the table
    is damaged.
    """
    table = tables.of(run, "episodes")
    count = table.rows
    levels = np.array(table.texts.get("level", [""] * count), str)
    columns = {name: table.column(name) for name in COLUMNS}
    r, finished = columns["r"], columns["finished"] == 1
    fits = (r >= number(given, "least", -np.inf)) & (r <= number(given, "most", np.inf))
    fits &= {"finished": finished, "lost": ~finished}.get(given.get("ended", ""), True)
    if wanted := given.get("level", ""):
        fits &= levels == wanted
    fits &= np.arange(count) < number(given, "until", count)
    at = np.flatnonzero(fits)
    order = given.get("order", "step")
    keys = levels if order == "level" else columns.get(order, columns["step"])
    at = at[np.argsort(keys[at], kind="stable")]
    at = at if given.get("up") == "1" else at[::-1]
    begin = int(min(max(number(given, "from", 0), 0), count))
    sent = at[begin : begin + ROWS]
    files = replays(run, table.column("env"), levels, sent)
    rows = [
        {"level": str(levels[i]), "file": file, **{n: float(columns[n][i]) for n in COLUMNS}}
        for i, file in zip(sent, files, strict=True)
    ]
    newest = np.flatnonzero(fits)[-ENDS:]
    ends = [[str(levels[i]), float(columns["progress"][i]), bool(finished[i])] for i in newest]
    names = sorted(set(levels.tolist()))
    names = names if len(names) <= MOST_LEVELS else []
    return {"levels": names, "count": count, "total": len(at), "rows": rows, "ends": ends}


def replays(
    run: Path, envs: NDArray[np.float64], levels: NDArray[np.str_], wanted: NDArray[np.intp]
) -> list[str]:
    """The names of the recordings of these episodes, "" for those without. JERK numbers them within
    each environment from its first episode on, so none is known if a later start set --record."""
    try:
        later = [str(start.get("command", "")) for start in history(run)[1:]]
        known = config_of(run).get("record") is True and not any("--record" in c for c in later)
    except (UserError, OSError):
        known = False
    if not known:
        return [""] * len(wanted)
    names = []
    for row in wanted:
        number = np.count_nonzero(envs[:row] == envs[row])
        level = str(levels[row]).replace(":", "-")
        name = f"recordings/env-{int(envs[row]):02d}/{level}-{number:06d}.bk2"
        names.append(name if (run / name).is_file() else "")
    return names


def recordings(folder: Path) -> Iterator[tuple[str, Path]]:
    """The recordings and films below a folder, with their names; none that is being written, which
    is hidden. Links are not followed."""
    for path, below, files in os.walk(folder):
        below.sort()
        for name in sorted(files):
            file = Path(path, name)
            shown = file.suffix in KINDS and not name.startswith(".")
            if shown and file.is_file() and not file.is_symlink():
                yield os.fsencode(file.relative_to(folder)).decode("utf-8", "replace"), file


def newest_files(folder: Path) -> list[str]:
    """The names of the recordings and films that are listed."""
    names = [name for name, _ in recordings(folder)]
    each = ([name for name in names if name.endswith(kind)] for kind in KINDS)
    return [name for files in each for name in files[-MOST_FILES:]]


def recording(folder: Path, wanted: str) -> Path:
    """The recording or film of that name. Raises UserError if there is none."""
    for name, file in recordings(folder):
        if name == wanted:
            return file
    raise UserError("there is no such recording")
