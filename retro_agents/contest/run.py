# PYTHON_ARGCOMPLETE_OK
"""The contest: an agent plays levels that it has not seen before, under limits, and is scored.

retro-agents contest run --agent rainbow --checkpoint rainbow/pretrained --levels bramble-test \
    --timesteps 100000 --seeds 3 --workers 2 --out runs/contest/rainbow -- --init-shrink 0.5
"""

import contextlib
import dataclasses
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from retro_agents.contest.match.agent import Agent, resolve, split_flags
from retro_agents.contest.match.folder import (
    claim_folder,
    difference,
    is_over,
    job_folder,
    read_result,
)
from retro_agents.contest.match.job import Contest, Job
from retro_agents.contest.match.scores import as_json, markdown, read_scores
from retro_agents.contest.wire.limits import limits_of
from retro_agents.contract.policy import Play
from retro_agents.games.retro.integrations import rom_hash
from retro_agents.games.retro.levels import Level
from retro_agents.ground.cores import free_cores
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import make_folder, write_json, write_text
from retro_agents.ground.processes import signals_held, stopped_in_order
from retro_agents.ground.progress import Progress
from retro_agents.ground.ranges import Count, Seed
from retro_agents.judging.levels import playable_levels
from retro_agents.judging.score import shown_names
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import field
from retro_agents.run.folder import alone_in

POLL_SECONDS = 0.2


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """Play levels under the contest's rules: a server and an agent process for each level and seed.

    Flags after -- are the agent's own, as for `python -m AGENT.train`: -- --init-shrink 0.5.
    Unless they include --preset or --config, an adapting agent has its checkpoint's settings.
    Run the command again with the same --out to resume an interrupted contest.
    """

    agent: str = field(
        answers=dict.fromkeys(("preset", "config"), "it is the agent's own: give it after --"),
        needs=("scipy",),
    )
    """random, hold-right, run-and-jump, a package (rainbow, …), or package.module:function."""
    checkpoint: str = ""
    """Checkpoint or run folder from which a package's agent starts."""
    mode: Literal["adapt", "frozen"] = "adapt"
    """What a package's agent does. adapt: it keeps learning, with its train.run; frozen: it does
    not learn, and plays as its checkpoint says."""
    play: Play | None = field(None, only_with="mode=frozen")
    """How a frozen agent chooses its actions instead: best, draw, draw:T with a temperature T, or
    epsilon:E with a share E of random ones."""
    levels: str = ""
    """Levels (RustCavern.Act2; GAME:STATE for one of no split) and splits (bramble-test),
    separated by commas; or a CSV with the columns game,state; default: the test split of the
    checkpoint's game, or bramble-test."""
    timesteps: Count = 1_000_000
    """Agent steps per level and seed."""
    seeds: Count = 3
    """How many seeds play each level."""
    first_seed: Seed = 0
    """The first seed."""
    workers: Count = 1
    """Levels played in parallel; each has a server process and an agent process."""
    wall_clock: str = "12h"
    """Time limit of each level: 12h, 90m, 30s or seconds."""
    stall: str = "10m"
    """Time limit of the agent's start, of each of its steps, and of its saving at the end."""
    out: Path | None = None
    """Folder for table.md, result.json, and one folder for each level and seed; default:
    runs/contest/AGENT, or AGENT-frozen."""
    device: str = "auto"
    """Where nets compute: cpu, cuda, cuda:1, auto."""
    backend: Literal["native", "emulator"] = "native"
    """How BrambleDash is played: by its native code or in the emulator. Others: always emulated."""
    record: bool = True
    """Keep a recording of each job's best episode, for films."""


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Run the contest that the command line describes."""
    own, flags = split_flags(sys.argv[1:] if argv is None else argv)
    config = parse_command(RunConfig, own, command="retro-agents contest run")
    limits = limits_of(config)
    usual = re.sub(r"\W", "-", config.agent) + "-frozen" * (config.mode == "frozen")
    out = config.out or Path("runs/contest") / usual
    agent = resolve(
        Agent(config.agent, config.checkpoint, config.mode, config.device, flags, config.play)
    )
    levels = playable_levels(config.levels, agent=config.checkpoint)
    seeds = range(config.first_seed, config.first_seed + config.seeds)
    plan = [(level, seed) for seed in seeds for level in levels]
    planned = [(str(level), seed) for level, seed in plan]
    roms = {game: rom_hash(game) for game in sorted({level.game for level in levels})}
    shared = {**dataclasses.asdict(limits), "record": config.record}
    shared |= {"backend": config.backend, "roms": roms}
    facts = {**agent.facts(), **shared}
    make_folder(out)
    busy = f"another contest runs in {out}: wait for it, or give another --out"
    with stopped_in_order(), alone_in(out, otherwise=busy) as lock:
        claim_folder(out, facts, planned)
        names = shown_names(map(str, levels))
        contest = Contest(out, agent, limits, config.record, facts, lock)

        def begin(level: Level, seed: int) -> Job:
            if changed := difference(out, facts, {**facts, **agent.facts()}):
                raise UserError(f"the agent has changed since the contest began: {changed}")
            return Job(contest, level, seed, name=f"{names[str(level)]}, seed {seed}")

        try:
            run_all(plan, out, begin, steps=limits.timesteps, workers=config.workers)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("the same command plays the levels that are left") from None
        finally:
            report(out, facts, planned)
    left = sum(not is_over(job_folder(out, *job)) for job in plan)
    if left:
        again = "if an error is named above, repair it; then run the command again"
        print(f"{left} of {len(plan)} must be played again: {again}", file=sys.stderr)
        raise SystemExit(1)
    if short := read_scores(out, planned=planned).shortfall:
        print(f"{short}: the contest ranks below complete ones", file=sys.stderr)


def run_all(
    plan: Sequence[tuple[Level, int]],
    out: Path,
    begin: Callable[[Level, int], Job],
    *,
    steps: int,
    workers: int,
) -> None:
    """Play all jobs of the plan that are not over yet, `workers` at a time.

    begin: starts a job. steps: per job. Raises UserError if a side was given wrong settings or a
    job cannot begin, when the running jobs are over. No process survives this call.
    """
    waiting = [job for job in plan if not is_over(job_folder(out, *job))]
    over = len(plan) - len(waiting)
    done = over * steps
    running: list[Job] = []
    refused: UserError | None = None
    # Limit the threads of each agent's libraries, unless the user has set a number.
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, free_cores() // workers)))
    bar = Progress(len(plan) * steps, "contest", start=done)
    with contextlib.ExitStack() as stops, bar:
        try:
            while waiting or running:
                try:
                    while waiting and len(running) < workers:
                        running.append(begin(*waiting.pop(0)))
                    for job in list(running):
                        if job.poll():
                            with signals_held():  # without its result it would be played again
                                running.remove(job)
                                status = job.finish()
                                over += 1
                                done += (read_result(job.folder) or {"steps": 0})["steps"]
                                tell(job, status, over=f"run {over} of {len(plan)}")
                except UserError as error:
                    refused = error
                    waiting.clear()
                played = list(filter(None, (read_result(job.folder) for job in running)))
                returns = [one["mean_return"] for one in played if one["steps"]]
                means = {"mean return": fmean(returns)} if returns else {}
                bar.update(done + sum(one["steps"] for one in played), means)
                time.sleep(POLL_SECONDS)
        finally:
            for job in running:
                stops.callback(job.stop)  # stop every job, even if stopping another one fails
    if refused is not None:
        raise refused


def tell(job: Job, status: str, *, over: str) -> None:
    """Print how a job ended, and why, unless it is complete. over: how many jobs are."""
    result = read_result(job.folder) or {"steps": 0}
    numbers = "nothing was played"
    if result["steps"]:
        rate = result["steps"] / max(result["seconds"], 1e-3)
        mean = f"mean return {result['mean_return']:,.0f} of {result['episodes']} episodes"
        numbers = f"{mean}, {rate:,.0f} steps/s"
    print(f"{job.name}: {status}, {numbers} ({over})", file=sys.stderr, flush=True)
    if status != "complete":
        side = "agent" if status == "crashed" else "server"
        ended = result.get("ended") if side == "server" and not job.server.returncode else None
        why = f"{ended or job.last_line(side)} (more in {job.folder / f'{side}.log'})"
        print(f"{job.name}: {why}", file=sys.stderr, flush=True)


def report(out: Path, facts: dict[str, Any], planned: Sequence[tuple[str, int]]) -> None:
    """Write table.md and result.json of the results so far, and print the table."""
    try:
        found = read_scores(out, planned=planned)
    except UserError:  # nothing was played
        return
    if not any(one.steps or one.status == "complete" for one in found.played):
        return
    way = f", --play {facts['play']}" if facts["play"] else ""
    mode = f" ({facts['mode']}{way})" if facts["mode"] else ""
    title = f"{facts['name']}{mode}: {facts['timesteps']:,} steps per level"
    table = markdown(found, title=title)
    write_text(out / "table.md", table)
    write_json(out / "result.json", {"agent": facts, **as_json(found)})
    print(table)
    print(out / "table.md")


if __name__ == "__main__":
    main()
