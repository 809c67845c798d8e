"""The environment's side alone, speaking the protocol of 2018.

retro-agents contest serve BrambleDash-Genesis-v0 BrambleWood.Act1 --dir tmp --timesteps 10000
"""

import dataclasses
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from retro_agents.contest.wire.limits import Limits, limits_of
from retro_agents.contest.wire.protocol import GymRemoteError, TimestepTimeoutError
from retro_agents.contest.wire.record import Record, run_facts
from retro_agents.contest.wire.server import Session, serve
from retro_agents.contest.wire.socket_folder import meeting_place
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import Level, parse_level
from retro_agents.games.retro.make import backend_of, make_contest_env
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.processes import hold_leash, stopped_in_order
from retro_agents.ground.ranges import Count, Seed
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import positional


@dataclasses.dataclass(frozen=True)
class ServeConfig:
    """Wait in a folder for one agent, and let it play one level under the contest's rules."""

    game: str = positional("GAME")
    """Game, such as BrambleDash-Genesis-v0."""
    state: str = positional("STATE")
    """Start state, such as BrambleWood.Act1."""
    dir: Path = Path("tmp")
    """Folder shared with the agent, for the socket and the screens."""
    timesteps: Count = 1_000_000
    """Number of steps that the agent may play; resets are free."""
    wall_clock: str = "12h"
    """Time limit of the run, from the server's start: 12h, 90m, 30s or seconds."""
    stall: str = "10m"
    """Time limit for the agent to connect, and for each step."""
    seed: Seed = 0
    """Seed of the sticky actions."""
    results: Path | None = None
    """Folder for monitor.csv, log.csv and result.json; default: the shared one. Keep it out
    of reach of agents that you do not trust."""
    record: bool = False
    """Also keep one .bk2 per episode, in the folder bk2 in the results folder."""
    backend: Literal["native", "emulator"] = "native"
    """How BrambleDash is played: by its native code or in the emulator. Others: always emulated."""
    leash: bool = False
    """Exit when standard input closes, that is, when the parent process has ended."""


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Serve the level that the command line names."""
    config = parse_command(ServeConfig, argv, command="retro-agents contest serve")
    limits = limits_of(config)
    level = parse_level(f"{config.game}:{config.state}")
    if config.leash:
        hold_leash(lambda: os.kill(os.getpid(), signal.SIGTERM))
    try:
        with stopped_in_order(), meeting_place(config.dir) as folder:
            play(level, folder, config=config, limits=limits)
    except OSError as error:
        raise UserError(f"the run cannot continue: {error}") from None


def play(level: Level, folder: Path, *, config: ServeConfig, limits: Limits) -> None:
    """Serve one run, printing a line at its start and its score at the end."""
    results = folder if config.results is None else config.results
    settings = EnvConfig(backend=config.backend)
    backend = backend_of([level], settings)
    env = make_contest_env(level, settings, record_dir=results / "bk2" if config.record else None)
    try:
        facts = run_facts(level, seed=config.seed, backend=backend)
        facts["limits"] = dataclasses.asdict(limits)
        record = Record(results, facts=facts)
        print(f"{level}: waiting for an agent in {folder}", flush=True)
        session = Session(env, folder, limits=limits, record=record, seed=config.seed)
        ended = serve(session)
    finally:
        env.close()
    print(f"{level}: {summary(record.result(), ended)}\n{results / 'result.json'}")


def summary(result: dict[str, Any], ended: GymRemoteError) -> str:
    """A run in one line."""
    word = "done" if isinstance(ended, TimestepTimeoutError) else "ended"
    if result["mean_return"] is None:
        return f"{word}: {ended}; no step was played"
    mean = f"mean return {result['mean_return']:,.1f} over {result['episodes']} episodes"
    return f"{word}: {ended}; {mean}, {result['steps']:,} steps"


if __name__ == "__main__":
    main()
