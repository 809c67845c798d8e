# PYTHON_ARGCOMPLETE_OK
"""The contest: an agent plays levels it cannot see into, under limits, and is scored.

retro-agents contest run --agent rainbow --checkpoint rainbow/pretrained --levels bramble-test \
    --timesteps 100000 --seeds 3 --workers 2 --out runs/contest/rainbow -- --init-shrink 0.5
"""

import contextlib
import dataclasses
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from retro_agents.contest.match.agent import Agent, resolve, split_flags
from retro_agents.contest.match.folder import (
    difference,
    is_over,
    job_folder,
    locked,
    read_result,
    same_contest,
)
from retro_agents.contest.match.job import Contest, Job
from retro_agents.contest.match.scores import as_json, markdown, read_scores
from retro_agents.contest.signals import stop
from retro_agents.contest.wire.limits import limits_of
from retro_agents.games.retro.integrations import rom_hash
from retro_agents.games.retro.levels import Level
from retro_agents.ground.cores import free_cores
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import write_json, write_text
from retro_agents.ground.progress import Progress
from retro_agents.ground.ranges import Count, Seed
from retro_agents.judging.levels import playable_levels
from retro_agents.judging.score import shown_names
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import field

POLL_SECONDS = 0.2


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """Play levels under contest rules, each level and seed in a server and an agent process.

    Flags after -- are the agent's own, as of `python -m AGENT.train`: -- --init-shrink 0.5.
    Without --preset or --config among them an adapting agent has its checkpoint's settings.
    Call it again with the same --out to go on where it was interrupted.
    """

    agent: str = field(
        answers=dict.fromkeys(("preset", "config"), "it is the agent's own: give it after --")
    )
    """random, hold-right, run-and-jump, a package (rainbow, …), or package.module:function."""
    checkpoint: str = ""
    """Checkpoint or run folder that a package's agent starts from."""
    mode: Literal["adapt", "frozen", "explore"] = "adapt"
    """What a package's agent does. adapt: it goes on learning, through its train.run; frozen: it
    acts as well as it can; explore: it acts as it does while learning, with its chance."""
    levels: str = "bramble-test"
    """Splits and GAME:STATE with commas between, or a CSV with columns game,state."""
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
    backend: Literal["native", "emulator"] = "native"
    """What plays BrambleDash: its own code, or the emulator; other games: always the emulator."""
    record: bool = True
    """Keep a recording of each job's best episode, for films."""


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Run the contest that the command line names."""
    own, flags = split_flags(sys.argv[1:] if argv is None else argv)
    config = parse_command(RunConfig, own, command="retro-agents contest run")
    limits = limits_of(config)
    levels = playable_levels(config.levels)
    agent = resolve(Agent(config.agent, config.checkpoint, config.mode, config.device, flags))
    seeds = range(config.first_seed, config.first_seed + config.seeds)
    plan = [(level, seed) for seed in seeds for level in levels]
    planned = [(str(level), seed) for level, seed in plan]
    signal.signal(signal.SIGTERM, stop)
    with locked(config.out) as lock:
        roms = {game: rom_hash(game) for game in sorted({level.game for level in levels})}
        shared = {**dataclasses.asdict(limits), "record": config.record}
        shared |= {"backend": config.backend, "roms": roms}
        facts = {**agent.facts(), **shared}
        same_contest(config.out, facts, planned)
        names = shown_names(map(str, levels))
        contest = Contest(config.out, agent, limits, config.record, facts, lock)

        def begin(level: Level, seed: int) -> Job:
            if changed := difference(config.out, facts, {**facts, **agent.facts()}):
                raise UserError(f"the agent has changed since the contest began: {changed}")
            return Job(contest, level, seed, name=f"{names[str(level)]}, seed {seed}")

        try:
            run_all(plan, config.out, begin, steps=limits.timesteps, workers=config.workers)
        finally:
            report(config.out, facts, planned)
    left = sum(not is_over(job_folder(config.out, *job)) for job in plan)
    if left:
        print(f"{left} of {len(plan)} must be played again: call it once more", file=sys.stderr)
        raise SystemExit(1)


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
    over = len(plan) - len(waiting)
    running: list[Job] = []
    refused: UserError | None = None
    # The threads that each agent's libraries may run, where nobody has said how many.
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, free_cores() // workers)))
    bar = Progress(len(plan) * steps, "contest", start=over * steps)
    with contextlib.ExitStack() as stops, bar:
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    try:
                        running.append(begin(*waiting.pop(0)))
                    except UserError as error:
                        refused = error
                        waiting.clear()
                for job in list(running):
                    if job.poll():
                        running.remove(job)
                        over += 1
                        tell(job, job.finish(), over=f"{over}/{len(plan)}")
                played = list(filter(None, (read_result(job.folder) for job in running)))
                returns = [one["mean_return"] for one in played if one["steps"]]
                means = {"mean return": fmean(returns)} if returns else {}
                bar.update(over * steps + sum(one["steps"] for one in played), means)
                time.sleep(POLL_SECONDS)
        finally:
            for job in running:
                stops.callback(job.stop)  # every one, whatever becomes of another
    if refused is not None:
        raise refused


def tell(job: Job, status: str, *, over: str) -> None:
    """How a job went, in a line, with a crashed agent's last words. over: how many are."""
    result = read_result(job.folder) or {"steps": 0}
    numbers = "nothing was played"
    if result["steps"]:
        rate = result["steps"] / max(result["seconds"], 1e-3)
        mean = f"mean return {result['mean_return']:,.0f} of {result['episodes']} episodes"
        numbers = f"{mean}, {rate:,.0f} steps/s"
    print(f"{job.name}: {status}, {numbers} ({over})", file=sys.stderr, flush=True)
    if status == "crashed":
        log = job.folder / "agent.log"
        print(f"{job.name}: {job.last_line('agent')} (more in {log})", file=sys.stderr, flush=True)


def report(out: Path, facts: dict[str, Any], planned: Sequence[tuple[str, int]]) -> None:
    """Write table.md and result.json of what has been played so far, and show the table."""
    try:
        found = read_scores(out, planned=planned)
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
