"""How well agents play: comparisons, contests and sweeps, by the project's own statistics."""

import dataclasses
import os
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from retro_agents.contest.compare import cautions, compared
from retro_agents.contest.entries import incomplete_of, runs_of
from retro_agents.contest.match.folder import job_folders, read_facts
from retro_agents.contest.match.scores import as_json, read_scores
from retro_agents.contest.stored import shipped, stored_file
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import folders_of
from retro_agents.ground.statistics import Runs
from retro_agents.studio.curves import experiment_of
from retro_agents.studio.files import MOST_BYTES, check_file, opened, read_json, reason_of
from retro_agents.studio.index import Index
from retro_agents.studio.writers import locks, writer_of

MOST = 20
"""Entries of a comparison."""
PLOT = "plot.png"
"""The file of a sweep's plot."""
MOST_TEXT = 1 << 18
"""Bytes of a sweep's table that are read."""


class Entry(msgspec.Struct, forbid_unknown_fields=True):
    """Who is compared: the runs of an experiment, a contest, or a result that is shipped."""

    runs: list[str] = []
    contest: str = ""
    shipped: str = ""


class Comparison(msgspec.Struct, forbid_unknown_fields=True):
    """A request for a comparison."""

    entries: list[Entry]
    seeds: bool = False
    """Whether runs with one config, but for the seed, become one entry."""


def checked_contest(folder: Path) -> Path:
    """A contest's folder. Raises UserError if it has files that are not read, see `check_file`."""
    check_file(folder / "contest.json", MOST_BYTES)
    for job in job_folders(folder):
        if job.is_symlink() or job.parent.is_symlink():
            raise UserError(f"{job.parent.name}/{job.name} is a link, which is not followed")
        check_file(job / "result.json", MOST_BYTES)
        check_file(job / "episodes.csv")
    return folder


def scores_of(index: Index, entry: Entry) -> tuple[str, str, Runs]:
    """An entry's label, its name for `retro-agents compare`, and its scores. Raises UserError if it
    has none."""
    if entry.shipped:
        if entry.shipped not in shipped():
            raise UserError("there is no such result")
        source = str(stored_file(entry.shipped))
        return entry.shipped, source, runs_of(source)
    if entry.contest:
        source = str(checked_contest(index.folder(entry.contest, "contest")))
        return entry.contest, source, runs_of(source)
    for name in entry.runs:
        check_file(index.folder(name) / "episodes.csv")
    folders = [str(index.folder(name)) for name in entry.runs]
    joined = ",".join(folders)
    if folders_of(joined) != folders:
        raise UserError(f"{joined}: a part before a comma is a folder too: rename one of them")
    more = f" and {len(folders) - 1} more" if len(folders) > 1 else ""
    return f"{(entry.runs or [''])[0]}{more}", joined, runs_of(joined)


def by_experiment(index: Index, entries: list[Entry]) -> list[Entry]:
    """The entries, with runs of one experiment joined."""
    found: dict[str, Entry] = {}
    for entry in entries:
        key = experiment_of(index.folder(entry.runs[0])) if entry.runs else repr(entry)
        runs = [*found[key].runs, *entry.runs] if key in found else entry.runs
        found[key] = msgspec.structs.replace(entry, runs=runs)
    return [*found.values()]


def compare(index: Index, asked: Comparison) -> dict[str, Any]:
    """The entries beside the first one: their rows, the mean of each on each shared level, and what
    a reader must know of them."""
    each = [one for place, one in enumerate(asked.entries) if one not in asked.entries[:place]]
    entries = by_experiment(index, each) if asked.seeds else asked.entries
    if alone := len(entries) == 1 < len(each):
        entries = each
    if not 2 <= len(entries) <= MOST:
        raise UserError(f"a comparison needs 2 to {MOST} entries, and these are {len(entries)}")
    found, sources = dict[str, Runs](), dict[str, str]()
    for entry in entries:
        label, source, scores = scores_of(index, entry)
        label = label if label not in found else f"{label} ({len(found) + 1})"
        found[label], sources[label] = scores, source
    rows = [dataclasses.asdict(one) for one in compared(found, incomplete=incomplete_of(sources))]
    levels = sorted(set.intersection(*map(set, found.values())))
    means = [
        {"level": level, "means": [fmean(runs[level].values()) for runs in found.values()]}
        for level in levels
    ]
    lines, cut = cautions(sources, found)
    if alone:
        lines = ["All these runs have one config, so each is an entry of its own.", *lines]
    return {"rows": rows, "levels": means, "remarks": [*lines, *cut.values()]}


def contests(index: Index) -> list[dict[str, Any]]:
    """A row for each contest, the best first, and those that were not played to the end last."""
    index.ask()
    known, rows = locks(), []
    for name, folder in index.contests.items():
        row: dict[str, Any] = {"id": name, "error": "", "mean": None, "running": False}
        rows.append(row)
        if index.is_slow(name):
            row["error"] = "its disk does not answer"
            continue
        with suppress(OSError):
            row["running"] = bool(writer_of(folder, known))
        try:
            row |= contest(folder)
        except Exception as error:  # whatever its files hold, the others are shown
            row["error"] = reason_of(error).replace(f"{index.root}{os.sep}", "")

    def place(row: dict[str, Any]) -> tuple[bool, bool, float]:
        return row["mean"] is None, bool(row.get("shortfall")), -(row["mean"] or 0)

    return sorted(rows, key=place)


def contest(folder: Path) -> dict[str, Any]:
    """A contest's name, overall score, and jobs: each level and seed. Raises UserError if it is
    damaged."""
    facts = read_facts(checked_contest(folder))
    planned = [(str(level), int(seed)) for level, seed in facts.get("planned", ())]
    about = {key: facts.get(key) for key in ("name", "mode", "timesteps")}
    try:
        found = as_json(read_scores(folder, planned=planned))
    except UserError:
        if any(folder.glob("*/seed-*/result.json")):
            raise
        jobs = [{"level": level, "seed": seed} for level, seed in planned]
        return {**about, "planned": len(planned), "jobs": [], "missing": jobs}
    overall = {key: found["overall"][key] for key in ("mean", "low", "high", "by_seed")}
    rest = {key: found[key] for key in ("shortfall", "jobs", "missing")}
    return {**about, **overall, "planned": len(planned), **rest}


def sweeps(index: Index) -> list[dict[str, Any]]:
    """A grid for each sweep: its cells with their states, its table as text, and when its plot was
    drawn, in seconds since 1970; 0: not yet."""
    rows = {row.id: row for row in index.ask()}
    paths, cells_of, found = index.paths, index.cells, []  # which a look may replace meanwhile
    for name, folder in index.sweeps.items():
        cells = [
            cell(paths[run], folder, rows[run], reads=not index.is_slow(run))
            for run in cells_of.get(name, ())
            if run in rows and run in paths
        ]
        text, drawn = "", 0.0
        if not index.is_slow(name):
            cells += waiting(folder, {f"{cell['kind']}/{cell['name']}" for cell in cells})
            with suppress(OSError), opened(folder / "table.md") as file:
                text = file.read(MOST_TEXT).decode("utf-8", "replace")
            with suppress(OSError):
                drawn = os.lstat(folder / PLOT).st_mtime
        found.append({"id": name, "cells": cells, "table": text, "drawn": drawn})
    return found


def plot_of(index: Index, name: str) -> Path:
    """The file of a sweep's plot. Raises OSError if there is none."""
    path = index.folder(name, "sweep") / PLOT
    opened(path).close()
    return path


def cell(run: Path, sweep: Path, row: Any, *, reads: bool) -> dict[str, Any]:
    """A cell: its kind, name, state, mean return, and how far it is. reads: whether its disk
    answers."""
    about = {"run": row.id, "kind": str(run.parent.relative_to(sweep)), "name": run.name}
    mean, state = row.mean, row.state
    with suppress(OSError, UserError, TypeError, ValueError, AttributeError, ArithmeticError):
        if reads and (levels := read_json(run.with_name(f"{run.name}.json")).get("levels")):
            mean, state = fmean(levels.values()), "finished"
    return {**about, "state": state, "mean": mean, "steps": row.steps, "timesteps": row.timesteps}


def waiting(sweep: Path, begun: set[str]) -> list[dict[str, Any]]:
    """The cells that have not begun, as their sweep lists them; none if it does not."""
    with suppress(OSError, UserError, TypeError, KeyError, AttributeError):
        names = [name.rpartition("/") for name in read_json(sweep / "todo.json")["cells"]]
        about = {"run": "", "state": "waiting", "mean": None, "steps": 0, "timesteps": 0}
        return [
            {**about, "kind": kind, "name": name}
            for kind, slash, name in names
            if f"{kind}{slash}{name}" not in begun
        ]
    return []
