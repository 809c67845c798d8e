"""The environment's side alone, on the protocol of 2018.

python -m contest.serve BrambleDash-Genesis-v0 BrambleWood.Act1 --dir tmp --timesteps 10000
"""

import dataclasses
import re
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

from contest.protocol import TimestepTimeoutError
from contest.record import Record, run_facts
from contest.server import Limits, private_folder, serve
from experiment.errors import UserError, command
from retro_env.levels import parse_level
from retro_env.make import make_contest_env

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclasses.dataclass(frozen=True)
class ServeConfig:
    """Wait in a folder for one agent, and let it play one level under contest rules."""

    game: Annotated[str, tyro.conf.Positional]
    """Game, such as BrambleDash-Genesis-v0."""
    state: Annotated[str, tyro.conf.Positional]
    """Start state, such as BrambleWood.Act1."""
    dir: Path = Path("tmp")
    """Folder shared with the agent: its socket and its screens."""
    timesteps: int = 1_000_000
    """Steps that the agent has; resets cost none."""
    wall_clock: str = "12h"
    """Time that the run has from the server's start: 12h, 90m, 30s or seconds."""
    stall: str = "10m"
    """Time that the agent has for one step, and for coming."""
    seed: int = 0
    """Seed of the sticky actions."""
    results: Path | None = None
    """Folder for monitor.csv, log.csv and result.json; by default the shared one. Keep it away
    from agents that are not trusted."""
    record: bool = False
    """Also keep one .bk2 per episode, in the folder bk2 beside the results."""


def parse_seconds(text: str) -> float:
    """12h, 90m, 30s, 3600 -> seconds. Errors: UserError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text.strip())
    if found is None:
        raise UserError(f"{text!r} is no length of time: give 12h, 90m, 30s or seconds")
    return float(found[1]) * UNITS[found[2]]


def stop(*_: Any) -> None:
    """SIGTERM: leave in order, with the records complete."""
    raise SystemExit(143)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Serve what the command line names."""
    config = tyro.cli(ServeConfig, args=argv, prog="python -m contest.serve")
    limits = Limits(
        timesteps=config.timesteps,
        wall_clock=parse_seconds(config.wall_clock),
        stall=parse_seconds(config.stall),
    )
    level = parse_level(f"{config.game}:{config.state}")
    folder = private_folder(config.dir)
    results = folder if config.results is None else config.results
    env = make_contest_env(level, record_dir=results / "bk2" if config.record else None)
    signal.signal(signal.SIGTERM, stop)
    try:
        facts = {**run_facts(level, seed=config.seed), "limits": dataclasses.asdict(limits)}
        record = Record(results, facts=facts)
        print(f"{level}: waiting for an agent in {folder}", flush=True)
        ended = serve(env, folder, limits=limits, record=record, seed=config.seed)
    except OSError as error:
        raise UserError(f"the run cannot go on: {error}") from None
    finally:
        env.close()
    result = record.result()
    mean = "no step was played"
    if result["mean_return"] is not None:
        mean = f"mean return {result['mean_return']:,.1f} over {result['episodes']} episodes"
    reason = "done" if isinstance(ended, TimestepTimeoutError) else "ended"
    print(f"{level}: {reason}: {ended}; {mean}, {result['steps']:,} steps")
    print(results / "result.json")


if __name__ == "__main__":
    main()
