# PYTHON_ARGCOMPLETE_OK
"""Score entries of the leaderboard on the current season's acts.

retro-agents leaderboard score leaderboard/entries/run-and-jump --workers 2
"""

import contextlib
import dataclasses
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
from retro_agents.contest.leaderboard.entry import Entry, hash_of, read_entry
from retro_agents.contest.leaderboard.play import Played, RefusedError, play
from retro_agents.contest.leaderboard.references import is_reference, reference_runs
from retro_agents.contest.leaderboard.result import Cost, Measured, Result, folder_of, keep
from retro_agents.contest.leaderboard.season import SEEDS, Season, current_season
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import drafted, folder_for
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
ADVICE = "no namespaces for users here, so score it only if you trust it, or enter it as an image"


@dataclasses.dataclass(frozen=True)
class ScoreConfig:
    """Let entries play every act of the current season with three seeds, and write their results
    and recordings. Run it again to resume: the runs that are over are kept."""

    entries: list[Path] = positional("ENTRY")
    """Entries' folders."""
    board: Path = field(BOARD, needs=("scipy",))
    """The leaderboard's folder."""
    workers: Count = 1
    """Number of runs that are played at the same time."""


def score(entry: Entry, season: Season, board: Path, *, workers: int) -> Result:
    """Play all runs of an entry, and keep what they prove. Raises UserError if one of them cannot
    be scored; then there is no result."""
    folder = folder_of(board, season, entry.name)
    if is_reference(entry):
        played = reference_runs(entry, season)
    else:
        if not (can_hide() or entry.facts.image):
            what = f"can read {board} and what its other runs leave"
            print(f"warning: {entry.name} {what}: {ADVICE}", file=sys.stderr)
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
    inputs = [entry.sha256, season.sha256, season.engine]
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
    if failed:
        if any(isinstance(error, RefusedError) for error in failed):
            shutil.rmtree(folder, ignore_errors=True)
        raise UserError(f"{entry.name}: {failed[0]}")
    return found


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


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Score the entries that the command line names."""
    config: Any = parse_command(ScoreConfig, argv, command="retro-agents leaderboard score")
    season = current_season(config.board)
    entries = [read_entry(folder, config.board) for folder in config.entries]
    for entry in entries:
        if entry.folder.resolve().parent != (config.board / "entries").resolve():
            raise UserError(f"{entry.folder} is not in {config.board}/entries: give its --board")
    folders, failed = [folder_of(config.board, season, one.name) for one in entries], False
    with stopped_in_order():
        for entry, folder in zip(entries, folders, strict=True):
            busy = f"another process scores {entry.name}: wait for its end"
            try:
                with folder_for(folder), alone_in(folder, otherwise=busy):
                    result = score(entry, season, config.board, workers=config.workers)
                print(line(result), flush=True)
                print(folder)
            except UserError as error:  # the others' results do not depend on it
                failed = True
                print(f"error: {error}", file=sys.stderr, flush=True)
    if failed:
        raise SystemExit(2)
    for folder in folders:  # only now: a repeated command plays nothing twice
        shutil.rmtree(folder / UNFINISHED, ignore_errors=True)


if __name__ == "__main__":
    main()
