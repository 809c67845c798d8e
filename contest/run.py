"""The contest: an agent plays levels it cannot see into, under limits, and is scored.

python -m contest.run --agent rainbow --checkpoint rainbow/pretrained --levels bramble-test \
    --timesteps 100000 --seeds 3 --workers 2 --out runs/contest/rainbow -- --init-shrink 0.5
"""

import contextlib
import dataclasses
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from contest.match.agents import resolve
from contest.match.job import Job, Rules, is_over, job_folder, job_folders, set_aside
from contest.match.progress import Board
from contest.match.scores import as_json, markdown, read_played, shown_names, standings
from contest.player import split_flags
from contest.serve import parse_seconds, stop
from contest.wire.record import rom_hash
from experiment.config import parse_command
from experiment.errors import UserError, command
from experiment.files import write_json, write_text
from experiment.ranges import Count, Seed
from retro_env.integrations import check_playable
from retro_env.levels import Level, parse_levels

POLL_SECONDS = 0.2
SAME = ("name", "mode", "checkpoint_sha256", "code_sha256", "timesteps", "wall_clock", "stall")
"""What contest.json says that may not change within a folder, beside the agent's settings."""
LOCK_SECONDS = 5.0
"""How long the processes of a killed run may take to leave."""


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """Play levels under contest rules, each level and seed in a server and an agent process.

    Flags after -- are the agent's own, as of `python -m AGENT.train`: -- --init-shrink 0.5.
    Without --preset or --config among them an adapting agent has its checkpoint's settings.
    Call it again with the same --out to go on where it was interrupted.
    """

    agent: str
    """random, hold-right, run-and-jump, a package (rainbow, …), or package.module:function."""
    checkpoint: str = ""
    """Checkpoint or run folder that a package's agent starts from; several with commas between,
    where it can choose among them (ppo2)."""
    mode: Literal["adapt", "frozen", "explore"] = "adapt"
    """What a package's agent does. adapt: it goes on learning, through its train.run; frozen: it
    acts as well as it can; explore: it acts as it does while learning, with its chance."""
    levels: str = "bramble-test"
    """A split, a CSV with columns game,state, or GAME:STATE[,GAME:STATE...]."""
    timesteps: Count = 1_000_000
    """Agent steps per level and seed."""
    seeds: Count = 3
    """How many seeds play each level."""
    first_seed: Seed = 0
    """The first of them."""
    workers: Count = 1
    """Levels played at a time; each has an emulator and an agent."""
    wall_clock: str = "12h"
    """Time that a level has: 12h, 90m, 30s or seconds."""
    stall: str = "10m"
    """Time that the agent has for one step."""
    out: Path = Path("runs/contest/latest")
    """Folder for a folder per level and seed, table.md and result.json."""
    device: str = "auto"
    """Where nets compute: cpu, cuda, cuda:1, auto."""
    record: bool = True
    """Keep a recording of each job's best episode, for films."""


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Run the contest that the command line names."""
    own, flags = split_flags(sys.argv[1:] if argv is None else argv)
    config = parse_command(RunConfig, own, command="python -m contest.run")
    rules = rules_of(config)
    levels = list(dict.fromkeys(parse_levels(config.levels)))  # each once: it has one folder
    for level in levels:
        check_playable(level.game, level.state, scenario="contest")
    agent = resolve(
        config.agent,
        checkpoint=config.checkpoint,
        mode=config.mode,
        device=config.device,
        flags=flags,
    )
    seeds = range(config.first_seed, config.first_seed + config.seeds)
    plan = [(level, seed) for seed in seeds for level in levels]
    planned = [(str(level), seed) for level, seed in plan]
    signal.signal(signal.SIGTERM, stop)
    with locked(config.out) as lock:
        roms = {game: rom_hash(game) for game in sorted({level.game for level in levels})}
        facts = {**agent.facts(), **dataclasses.asdict(rules), "roms": roms}
        same_contest(config.out, facts, planned)
        names = shown_names(map(str, levels))

        def begin(level: Level, seed: int) -> Job:
            if changed := difference(config.out, facts, {**facts, **agent.facts()}):
                raise UserError(f"the agent has changed since the contest began: {changed}")
            return Job(
                config.out,
                agent,
                level,
                name=f"{names[str(level)]}, seed {seed}",
                seed=seed,
                rules=rules,
                facts=facts,
                lock=lock,
            )

        try:
            run_all(plan, config.out, begin, steps=rules.timesteps, workers=config.workers)
        finally:
            report(config.out, facts, planned)
    left = sum(not is_over(job_folder(config.out, *job)) for job in plan)
    if left:
        print(f"{left} of {len(plan)} must be played again: call it once more", file=sys.stderr)
        raise SystemExit(1)


def rules_of(config: RunConfig) -> Rules:
    """What all jobs share. Errors: UserError (a number or a time makes no sense)."""
    return Rules(
        timesteps=config.timesteps,
        wall_clock=parse_seconds(config.wall_clock),
        stall=parse_seconds(config.stall),
        record=config.record,
    )


@contextlib.contextmanager
def locked(out: Path) -> Iterator[int]:
    """One contest at a time in a folder. Errors: UserError.

    The processes of the contest hold the lock too: after a kill it is free when they have gone.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = os.open(out / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UserError(f"cannot write to {out}: {error.strerror}") from None
    deadline = time.monotonic() + LOCK_SECONDS
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    text = f"another contest runs in {out}: wait for it, or give another --out"
                    raise UserError(text) from None
                time.sleep(POLL_SECONDS)
        yield lock
    finally:
        os.close(lock)


def same_contest(out: Path, facts: dict[str, Any], planned: Sequence[tuple[str, int]]) -> None:
    """A folder is one contest: same agent, limits and ROMs. Errors: UserError (it is another's).

    What another agent began there, without an end of one level, is set aside. planned: what is to
    be played, which contest.json says too.
    """
    path = out / "contest.json"
    begun = job_folders(out)
    if begun:
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            before, other = {}, f"cannot read {path}: {error}"
        else:
            other = difference(out, before, facts)
        if other and any(is_over(folder) for folder in begun):
            raise UserError(other)
        if other:
            for folder in begun:
                set_aside(folder)
        else:
            facts["roms"] = {**before.get("roms", {}), **facts["roms"]}
    write_json(path, {**facts, "planned": planned})


def difference(out: Path, before: dict[str, Any], facts: dict[str, Any]) -> str:
    """In what a folder's contest is another than the one of these facts; "" where in nothing."""
    was, now = before.get("settings") or {}, facts["settings"] or {}
    pairs = [(name, before.get(name), facts[name]) for name in SAME]
    pairs += [(name, was.get(name), now.get(name)) for name in {**was, **now}]
    for name, old, new in pairs:
        if old != new:
            return (
                f"{out} holds a contest with {name} {old}, not {new}: "
                "give the same, or another --out"
            )
    for game, played in before.get("roms", {}).items():
        if facts["roms"].get(game, played) != played:
            return f"{out} was played with another ROM of {game}: give another --out"
    return ""


def run_all(
    plan: Sequence[tuple[Level, int]],
    out: Path,
    begin: Callable[[Level, int], Job],
    *,
    steps: int,
    workers: int,
) -> None:
    """Play what of the plan is not over yet, `workers` at a time.

    begin: starts a job. steps: of each. Errors: UserError (a side was given something wrong; one
    of `begin` comes when what runs is over). However it ends, no process is left.
    """
    waiting = [job for job in plan if not is_over(job_folder(out, *job))]
    share_cores(workers)
    running: list[Job] = []
    refused: UserError | None = None
    over = len(plan) - len(waiting)
    with contextlib.ExitStack() as stops, Board(len(plan), over, steps=steps) as board:
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    try:
                        running.append(begin(*waiting.pop(0)))
                    except UserError as error:
                        refused = error
                        waiting.clear()
                    else:
                        board.begin(running[-1])
                for job in list(running):
                    board.look(job)
                    if job.poll():
                        running.remove(job)
                        board.end(job, job.finish())
                time.sleep(POLL_SECONDS)
        finally:
            for job in running:
                stops.callback(job.stop)  # every one, whatever becomes of another
    if refused is not None:
        raise refused


def share_cores(workers: int) -> None:
    """Tell the agents' libraries how many threads each may run, where nobody has."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (cores or 1) // workers)))


def report(out: Path, facts: dict[str, Any], planned: Sequence[tuple[str, int]]) -> None:
    """Write table.md and result.json of what has been played so far, and show the table."""
    try:
        found = standings(read_played(out), planned=planned)
    except UserError:  # nothing was played
        return
    if not any(one.steps for one in found.played):
        return
    mode = f" ({facts['mode']})" if facts["mode"] else ""
    title = f"{facts['name']}{mode}: {facts['timesteps']:,} steps per level"
    table = markdown(found, title=title)
    print(table)
    write_text(out / "table.md", table)
    write_json(out / "result.json", {"agent": facts, **as_json(found)})
    print(out / "table.md")


if __name__ == "__main__":
    main()
