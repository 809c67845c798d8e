"""Runs the cells of a study, each in its own folder and process; resumes interrupted cells.

NAME.json beside a cell's folder says from the start what the cell is made with, and at the end
holds its result. After that only this file counts, and the cell's checkpoints are deleted unless
other kinds need them or the study keeps them all.
"""

import shutil
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.ground.cores import free_cores
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import make_folder, wait_for_lock
from retro_agents.ground.output import last_line
from retro_agents.ground.processes import ended
from retro_agents.ground.results import read_result, store
from retro_agents.judging.score import Episode, episode_columns, read_episodes
from retro_agents.judging.sight import PLAYS
from retro_agents.run.folder import alone_in
from retro_agents.run.metrics import rows_of
from retro_agents.sweeps import losses
from retro_agents.sweeps.study import REFERENCE, Cell, Study, short

TODO = "todo.json"
"""File beside the cells that names those that were incomplete at the newest start."""
LAST = 0.1
"""Share of a run, at its end, over which final numbers are averaged."""
Record = dict[str, Any]


class Busy(UserError):  # noqa: N818
    """Another process runs the cell."""


def record_of(study: Study, cell: Cell, out: Path) -> Record | None:
    """A cell's result; None if it is not complete. Raises UserError if it was made differently."""
    path = out / f"{cell.name}.json"
    if not path.is_file():
        return None
    way_out = "move it away, with its run's folder, and run it again"
    record = read_result(path, expected=way_out)
    now, before = study.made_with(cell), record.get("made")
    if not isinstance(before, dict):
        raise UserError(f"{path} does not say what its run was made with; {way_out}")
    for name, value in before.items():
        if value != (wanted := now.get(name)):
            raise UserError(
                f"{path}: {cell.name} was made with {name} {value!r}, not {wanted!r}; give the "
                "same, or another --out"
            )
    return record if "levels" in record else None


def play(
    study: Study, cell: Cell, out: Path, *, threads: int, stopping: threading.Event | None = None
) -> None:
    """Run a cell to its end, resuming it if it has begun; not if another command has completed it
    meanwhile. Raises Busy if one still runs it, and UserError if its process fails.

    threads: of a new run; one that is resumed keeps its number, because results depend on it.
    stopping: ends the process once it is set.
    """
    log = out / f"{cell.name}.log"
    make_folder(log.parent)
    with log.open("a") as file:
        try:
            wait_for_lock(file.fileno(), otherwise=f"another process runs {cell.name}")
        except UserError as error:
            raise Busy(str(error)) from None
        if record_of(study, cell, out) is None:
            play_alone(study, cell, out, log=file, threads=threads, stopping=stopping)


def play_alone(
    study: Study,
    cell: Cell,
    out: Path,
    *,
    log: IO[Any],
    threads: int,
    stopping: threading.Event | None,
) -> None:
    """As `play`, whose lock on the log the run's process shares."""
    kind, folder, made = study.kinds[cell.kind], out / cell.name, study.made_with(cell)
    path = out / f"{cell.name}.json"

    def place(name: str) -> str:
        return study.inputs.get(name) or str(out / study.needed(cell, name).name)

    def saved() -> bool:
        return any((folder / "checkpoints").glob("step-*"))

    if folder.is_dir() and not saved():
        with alone_in(folder):  # otherwise a command that is no sweep runs it
            if not saved():
                shutil.rmtree(folder)  # it was stopped before there was anything to resume
    if resumes := saved():
        words = ["--resume"]
    else:
        words = ["--levels", cell.level, "--seed", str(cell.seed)]
        words += ["--timesteps", str(made["steps"])]
        words += [REFERENCE.sub(lambda m: place(m[1]), word) for word in kind.words]
    begun = read_result(path) if resumes and path.is_file() else {}
    record = {"made": made, "threads": begun.get("threads", threads)}
    store(path, record)
    run = [sys.executable, "-m", "retro_agents.ground.leash", kind.run]
    run += ["--run-dir", str(folder), *words]
    limit = {"OMP_NUM_THREADS": str(record["threads"])}
    exit_code, cpu_seconds = ended(run, log, stopping=stopping, environment=limit)
    if exit_code:
        with Path(log.name).open("rb") as said:
            why = last_line(said)
        raise UserError(
            f"{kind.run} failed ({why}); see {log.name}, then give the same command again"
        )
    cost = {} if resumes else {"cpu_hours": cpu_seconds / 3600.0}
    store(path, {**record, **cost, **measured(study, cell, out)})
    if not study.keep and not any(cell.kind in study.needs(kind) for kind in study.kinds):
        shutil.rmtree(folder / "checkpoints", ignore_errors=True)


def measured(study: Study, cell: Cell, out: Path) -> Record:
    """A run's result, from its files. Raises UserError if it ended no episode."""
    kind, folder = study.kinds[cell.kind], out / cell.name
    episodes = read_episodes(folder)
    if not episodes:
        raise UserError(f"{cell.name} ended no episode; give more steps, and another --out")
    record: Record = {
        "levels": level_means(episodes),
        "best": max(one.r for one in episodes),
        "episodes": len(episodes),
        "finished": sum(one.finished for one in episodes),
        "steps": sum(one.l for one in episodes),
    }
    others = [name for name in PLAYS[1:] if (folder / name / "episodes.csv").is_file()]
    if others:
        record["sight"] = {name: level_means(read_episodes(folder / name)) for name in others}
    played, learned = episode_columns(folder), folder / "metrics.csv"
    if learned.is_file():  # absent if the player does not learn
        record["grown"] = losses.grown(played, study.made_with(cell)["steps"])
    if "kind" in played:
        record["lost"] = losses.lost(played)
    if kind.last:
        ends = last_rows(rows_of(learned), kind.last)
        ends["return"] = last_rows(played, ["r"])["r"]
        record["last"] = {name: float(values.mean()) for name, values in ends.items()}
    if kind.curve:
        table = rows_of(learned)
        if known := [name for name in kind.curve if name in table]:
            there = ~np.any([np.isnan(table[name]) for name in known], axis=0)
            record["curve"] = {name: table[name][there].tolist() for name in ("step", *known)}
    return record


def last_rows(
    table: Mapping[str, NDArray[Any]], names: Sequence[str]
) -> dict[str, NDArray[np.float64]]:
    """Column -> its numbers in the last tenth of a run's steps, if it has any."""
    if not table:
        return {}
    end = table["step"] > (1 - LAST) * table["step"].max()
    known = {name: table[name][end & ~np.isnan(table[name])] for name in names if name in table}
    return {name: values for name, values in known.items() if len(values)}


def level_means(episodes: Sequence[Episode]) -> dict[str, float]:
    """Mean return on each level."""
    found: dict[str, list[float]] = {}
    for episode in episodes:
        found.setdefault(short(episode.level), []).append(episode.r)
    return {level: float(np.mean(returns)) for level, returns in found.items()}


def left(study: Study, kinds: Sequence[str], out: Path, *, lists: bool = True) -> list[Cell]:
    """The incomplete cells of these kinds and of the kinds that they need: those that play all
    levels first, then seed by seed. lists: writes TODO, too, for who watches; at most one process
    at a time can do that."""
    asked = [cell for kind in kinds for cell in study.cells(kind)]
    found = dict[str, Cell]()
    while asked:
        cell = asked.pop(0)
        if cell.name not in found and record_of(study, cell, out) is None:
            found[cell.name] = cell
            asked += [study.needed(cell, name) for name in study.needs(cell.kind)]
    rank = list(study.kinds).index
    cells = sorted(found.values(), key=lambda c: (not c.together, c.seed, c.level, rank(c.kind)))
    if lists:
        store(out / TODO, {"cells": [cell.name for cell in cells]})
    return cells


def work(
    study: Study,
    todo: Sequence[Cell],
    out: Path,
    *,
    jobs: int,
    say: Callable[[str], None],
    play: Callable[..., None] = play,
    stop: Callable[[], object] = lambda: None,
) -> None:
    """Run all cells, `jobs` at a time, each once the runs that it needs are complete.

    play: replaces this module's; stop: ends what it runs, if `stopping` does not. A failed cell
    does not prevent others from running, and one that another process runs is tried again after
    them; whatever interrupts this, such as Ctrl-C, ends them all, and they save first. Raises
    UserError at the end if some failed.
    """
    waiting, failed, elsewhere = list(todo), list[str](), set[str]()
    missing = {cell.name for cell in todo}
    before = {c.name: {study.needed(c, name).name for name in study.needs(c.kind)} for c in todo}
    threads = max(1, free_cores() // jobs)
    running: dict[Future[None], Cell] = {}
    stopping = threading.Event()
    with ThreadPoolExecutor(jobs) as pool:
        try:
            while True:
                ready = [cell for cell in waiting if missing.isdisjoint(before[cell.name])]
                for cell in ready[: jobs - len(running)]:
                    waiting.remove(cell)
                    given = {"threads": threads, "stopping": stopping}
                    running[pool.submit(play, study, cell, out, **given)] = cell
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    cell = running.pop(future)
                    try:
                        future.result()
                        missing.remove(cell.name)
                        say(f"done: {cell.name}")
                    except Busy as busy:
                        waiting.append(cell)
                        if cell.name not in elsewhere:
                            elsewhere.add(cell.name)
                            say(f"waiting: {busy}")
                    except UserError as error:
                        failed.append(cell.name)
                        say(f"failed: {cell.name}: {error}")
        except BaseException:
            stopping.set()
            stop()
            raise
    if failed:
        unbegun = f"; {len(waiting)} that depend on others did not begin" if waiting else ""
        raise UserError(f"{len(failed)} of {len(todo)} failed: {', '.join(failed)}{unbegun}")
    if waiting:
        raise UserError(f"{waiting[0].name} needs a run that needs it: nothing can begin")
