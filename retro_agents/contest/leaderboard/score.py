# PYTHON_ARGCOMPLETE_OK
"""Score entries of the leaderboard on the current season's acts.

retro-agents leaderboard score leaderboard/entries/run-and-jump --workers 2
"""

import contextlib
import dataclasses
import datetime
import os
import random
import shutil
import sys
import threading
from array import array
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from retro_agents.contest.leaderboard.confine import can_hide
from retro_agents.contest.leaderboard.entry import Entry, hash_of
from retro_agents.contest.leaderboard.faults import Faults
from retro_agents.contest.leaderboard.play import Played, RefusedError, play
from retro_agents.contest.leaderboard.references import is_reference, reference_runs
from retro_agents.contest.leaderboard.result import (
    Cost,
    Measured,
    Result,
    folder_of,
    inputs_of,
    keep,
    read_result,
)
from retro_agents.contest.leaderboard.season import SEEDS, Season, current_season
from retro_agents.contest.leaderboard.tape import SUFFIX
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import drafted, file_hash, folder_for, writing
from retro_agents.ground.processes import stopped_in_order
from retro_agents.ground.progress import Progress
from retro_agents.ground.ranges import Count
from retro_agents.ground.results import commit, installed, machine
from retro_agents.judging.score import interval_text
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import field, positional
from retro_agents.run.folder import alone_in

BOARD = Path("leaderboard")
UNFINISHED = "unfinished"
"""Folder of an entry's runs until the whole command is over, so that the next one resumes."""
Saved = tuple[list[str], bytes, float, float, int]
"""A run: SHA-256 of all that it depends on, its buttons, and the rest as in `Played`."""
PACKAGES = ("retro-contest-agents", "numpy", "torch", "wasmtime")
REFUSED = "refused.log"
"""In an entry's folder of results: the end of what it wrote in the run that was refused."""
ADVICE = "this system hides nothing from it (`retro-agents doctor` says why)"
ROOT_READS = (
    "warning: an entry that root scores can read every file of this system but those that are "
    "hidden from it: score as another user"
)
SPEED = 190
"""Steps per second of a net that does not learn, for an estimate."""


@dataclasses.dataclass(frozen=True)
class ScoreConfig:
    """Let entries play every act of the current season with three seeds, and write their results
    and recordings. Run it again to resume: what is over is kept."""

    entries: list[Path] = positional("ENTRY")
    """Entries' folders."""
    board: Path = field(BOARD, needs=("scipy",))
    """The leaderboard's folder."""
    workers: Count = 1
    """Number of runs that are played at the same time."""
    again: bool = False
    """Also play entries that have a result and have not changed since."""
    trust: bool = False
    """Also play entries where this system cannot hide files: they can read the acts and your
    files."""


def score(entry: Entry, season: Season, board: Path, *, workers: int) -> Result:
    """Play all runs of an entry, and keep what they prove. Raises UserError if one of them cannot
    be scored; then there is no result."""
    folder = folder_of(board, season, entry.name)
    if is_reference(entry):
        played = reference_runs(entry, season)
    else:
        played = play_all(entry, season, board, workers=workers)
    if hash_of(entry.folder, entry.agent) != entry.sha256:
        raise UserError(f"{entry.folder} has changed while it played: no entry may write there")
    tapes = {act: [played[act, seed].masks for seed in range(SEEDS)] for act in season.acts}
    measured = Measured(
        costs={act: [cost_of(played[act, seed]) for seed in range(SEEDS)] for act in season.acts},
        hidden=can_hide() or bool(entry.facts.image),
        machine=machine(),
        versions={name: installed(name) for name in PACKAGES},
        commit=commit(),
        scored=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    return keep(entry, season, folder, tapes, measured=measured)


def play_all(
    entry: Entry, season: Season, board: Path, *, workers: int
) -> dict[tuple[str, int], Played]:
    """Every act with every seed, in an order that is drawn, so that it names no act. Runs that are
    over are not played again, except those of an entry that was refused: it could choose among
    them. So a failure that is not the entry's lets the runs under way end.

    They come in rounds, each of every act once, and no round begins before the last one is over:
    runs that are played together could help each other, and pass on what an earlier one knew."""
    folder = folder_of(board, season, entry.name) / UNFINISHED
    inputs = [*inputs_of(entry, season).values()]
    jobs = [(act, seed) for act in season.acts for seed in range(SEEDS)]
    known = {job: recall(folder / f"{job[0]}.{job[1]}", inputs=inputs) for job in jobs}
    found = {job: one for job, one in known.items() if one is not None}
    plan = [job for job in jobs if job not in found]
    random.SystemRandom().shuffle(plan)
    rounds: dict[int, list[tuple[str, int]]] = {}
    for place, job in enumerate(plan):
        before = [act for act, _ in plan[:place]]
        rounds.setdefault(before.count(job[0]), []).append(job)
    slots, stopping = list(range(workers)), threading.Event()
    failed: list[UserError] = []
    with (
        Progress(len(jobs), f"score {entry.name}", unit="runs", start=len(found)) as progress,
        ThreadPoolExecutor(workers) as pool,
    ):

        def run(job: tuple[str, int]) -> None:
            act, seed = job
            if stopping.is_set() or failed:
                return
            slot = slots.pop()
            try:
                one = play(entry, season, act, seed=seed, board=board, slot=slot, stopping=stopping)
                remember(folder / f"{act}.{seed}", one, inputs=inputs)
                found[job] = one
            except UserError as error:
                if not stopping.is_set():
                    failed.append(error)
                if isinstance(error, RefusedError):
                    stopping.set()
            slots.append(slot)
            progress.update(len(found))

        try:
            for together in rounds.values():
                list(pool.map(run, together))
        finally:
            stopping.set()
    if not failed:
        return found
    refused = [error for error in failed if isinstance(error, RefusedError)]
    if not refused:
        raise UserError(f"{entry.name}: {failed[0]}")
    shutil.rmtree(folder, ignore_errors=True)
    said = folder.with_name(REFUSED)
    with writing(said):
        said.write_bytes(refused[0].output)
    raise UserError(f"{entry.name}: {refused[0]} (more in {said})")


def remember(path: Path, played: Played, *, inputs: list[str]) -> None:
    """Store a run. Raises UserError if it cannot be written."""
    masks = played.masks.tobytes()
    saved: Saved = inputs, masks, played.seconds, played.cpu_seconds, played.memory
    with drafted(path) as draft:
        draft.write_bytes(msgspec.msgpack.encode(saved))


def recall(path: Path, *, inputs: list[str]) -> Played | None:
    """A run that was stored for the same inputs; None if there is none."""
    with contextlib.suppress(OSError, msgspec.MsgspecError, ValueError):
        known, masks, *costs = msgspec.msgpack.decode(path.read_bytes(), type=Saved)
        if known == inputs:
            return Played(array("H", masks), *costs)
    return None


def cost_of(played: Played) -> Cost:
    """What a run took, rounded."""
    return Cost(
        round(played.seconds, 2), round(played.cpu_seconds, 2), round(played.memory / 2**20)
    )


def line(result: Result) -> str:
    """A result in a line."""
    interval = interval_text((result.low, result.high))
    return f"{result.entry}: {result.score:,.0f} ({interval}), {result.finished:.0%} finished"


def stored(entry: Entry, season: Season, board: Path) -> Result | None:
    """The result of an entry that has not changed since; None if there is none, or a file of it is
    damaged."""
    folder = folder_of(board, season, entry.name)
    with contextlib.suppress(UserError):
        result = read_result(board, season, entry.name)
        whole = all(
            file_hash(folder / f"{act}{SUFFIX}") == one.recording
            for act, one in result.acts.items()
        )
        if whole and result.inputs == inputs_of(entry, season):
            return result
    return None


def check_scorable(entry: Entry, board: Path, *, trust: bool) -> None:
    """Raises UserError if an entry is of another leaderboard, or could read what it may not."""
    if entry.folder.resolve().parent != (board / "entries").resolve():
        where = f"copy it to {board}/entries, or give the --board that it is in"
        raise UserError(f"{entry.folder} is not in {board}/entries: {where}")
    if not (trust or is_reference(entry) or entry.facts.image or can_hide()):
        advice = "if you trust its code, add --trust; otherwise enter an image, or score on Linux"
        raise UserError(f"{entry.name} is not scored: {ADVICE}; {advice} with user namespaces")


def estimate(entries: Sequence[Entry], season: Season, *, workers: int) -> str:
    """About how long these entries will play."""
    playing = [entry for entry in entries if not is_reference(entry)]
    runs = len(season.acts) * SEEDS
    minutes = sum(entry.steps * runs for entry in playing) / SPEED / workers / 60
    return (
        f"{len(playing)} to play, {runs} runs each: about {max(1, round(minutes)):,} min with "
        f"--workers {workers}, at {SPEED} steps per second"
    )


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Score the entries that the command line names."""
    config: Any = parse_command(ScoreConfig, argv, command="retro-agents leaderboard score")
    board, faults, fit = config.board, Faults(), []
    season = current_season(board)
    for entry in faults.entries(config.entries, board):
        with faults.of(entry.name):
            check_scorable(entry, board, trust=config.trust)
            known = None if config.again else stored(entry, season, board)
            if known:
                print(f"{line(known)}: already scored (--again plays it anew)", flush=True)
            else:
                fit.append(entry)
    if any(not is_reference(entry) for entry in fit):
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            print(ROOT_READS, file=sys.stderr)
        print(estimate(fit, season, workers=config.workers), file=sys.stderr, flush=True)
    with stopped_in_order():
        for entry in fit:
            folder = folder_of(board, season, entry.name)
            busy = f"another process scores {entry.name}: wait for its end"
            with faults.of(entry.name), folder_for(folder), alone_in(folder, otherwise=busy):
                result = score(entry, season, board, workers=config.workers)
                shutil.rmtree(folder / UNFINISHED, ignore_errors=True)
                (folder / REFUSED).unlink(missing_ok=True)
                print(line(result), flush=True)
                print(folder)
    faults.end(known=len(config.entries))


if __name__ == "__main__":
    main()
