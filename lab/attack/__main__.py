"""Attacks the project for some time, with what a seed generates: kills, damages, forgeries, full
disks, hostile archives and configs, hostile sessions of the contest.

python -m lab.attack --seconds 3600 --write

The project withstands an attempt if nothing that was saved is lost, and what it refuses is refused
in one line. The exit code is 1 if it did not withstand one. Needs the tests, and what they need.
"""

import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.attack import checkpoints, files, sessions
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import make_folder
from retro_agents.ground.progress import Progress
from retro_agents.ground.ranges import Count, Seed
from retro_agents.ground.results import ROOT, store, write_result
from retro_agents.run.command_line import parse_command

STORED = ROOT / "lab/attack/results.json"
PATIENCE = 120
"""Seconds after which an attempt is taken to be stuck."""
ATTACKS: dict[str, Callable[[random.Random, Path], str]] = {
    "kill": checkpoints.kill,
    "damage": checkpoints.damage,
    "forge": checkpoints.forge,
    "full disk": checkpoints.fill_disk,
    "archive": files.archive,
    "config": files.config,
    "session": sessions.session,
}
"""Name -> an attempt with a generator and an empty folder, which returns what was lost, or ""."""


@dataclass(frozen=True)
class AttackConfig:
    """Attack the project with what a seed generates."""

    seconds: Count = 120
    """For how long; the attempt that is under way then is finished."""
    seed: Seed = 0
    """Attempt N of a kind draws from this and N, so it can be repeated alone."""
    only: tuple[str, ...] = ()
    """Kinds of attack, such as forge; default: all in turn."""
    first: int = 0
    """Number of the first attempt."""
    write: bool = False
    """Store the counts in lab/attack/results.json."""
    out: Path | None = None
    """File for the counts."""


class StuckError(BaseException):
    """An attempt takes too long. A TimeoutError would be caught as the OSError that it is."""


@contextmanager
def limited(seconds: int) -> Any:
    """Raises StuckError in work that takes longer."""

    def stop(*_: object) -> None:
        raise StuckError(f"stuck for {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def attempt(kind: str, seed: int, number: int) -> str:
    """One attempt: what was lost, or ""."""
    rng = random.Random(f"{kind} {seed} {number}")
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        try:
            with limited(PATIENCE):
                return ATTACKS[kind](rng, Path(folder))
        except (Exception, StuckError) as error:
            return f"{type(error).__name__}: {error}".partition("\n")[0]


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Attack, and store and print the counts."""
    config = parse_command(AttackConfig, argv, command="python -m lab.attack")
    if unknown := {*config.only} - ATTACKS.keys():
        raise UserError(f"no attack {min(unknown)!r}; expected one of: {', '.join(ATTACKS)}")
    if config.out is not None:
        make_folder(config.out.parent)  # before the attack, which takes long
    kinds = config.only or tuple(ATTACKS)
    tried, lost = dict.fromkeys(kinds, 0), list[str]()
    began, number = time.monotonic(), config.first
    with Progress(config.seconds, "attack", unit="seconds") as progress:
        while (now := time.monotonic() - began) < config.seconds:
            for kind in kinds:
                progress.update(int(now), {"attempts": sum(tried.values()), "lost": len(lost)})
                tried[kind] += 1
                if found := attempt(kind, config.seed, number):
                    lost.append(f"{kind} {number}: {found}")
                    print(f"lost: {lost[-1]}", file=sys.stderr)
                if time.monotonic() - began >= config.seconds:
                    break
            number += 1
    result = {"seconds": config.seconds, "seed": config.seed, "attempts": tried, "lost": lost}
    if config.write:
        write_result(STORED, result, module="lab.attack")
    if config.out is not None:
        store(config.out, result)
    counts = ", ".join(f"{count} of {kind}" for kind, count in tried.items())
    print(f"{counts}; {len(lost)} lost")
    if lost:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
