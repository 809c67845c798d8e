"""Where a run comes from: provenance.json in its folder, with an entry for each start."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from retro_agents.ground.errors import UserError
from retro_agents.ground.files import write_json
from retro_agents.ground.results import commit, installed, machine

FILE = "provenance.json"


def now() -> str:
    """The time in UTC, to the second, such as 2026-01-31T12:00:00+00:00."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read(run_dir: Path) -> list[dict[str, Any]]:
    """The entries of a run, the oldest first; [] if it has none that can be read."""
    with suppress(OSError, ValueError):
        found = json.loads((run_dir / FILE).read_text(encoding="utf-8"))
        if isinstance(found, list) and all(isinstance(entry, dict) for entry in found):
            return found
    return []


@contextmanager
def recorded(run_dir: Path, agent: str, *, env_steps: int) -> Iterator[None]:
    """Adds an entry for this start, and its end when the context ends; a killed run has no end.

    env_steps: of the checkpoint that the run resumes from, or 0. Raises UserError if the file
    cannot be written at the start.
    """
    entries = read(run_dir)
    entry: dict[str, Any] = {
        "agent": agent,
        "from_step": env_steps,
        # `retro-agents train ppo2` is one word of sys.argv.
        "command": shlex.join([*Path(sys.argv[0]).name.split(), *sys.argv[1:]]),
        "version": installed("retro-contest-agents"),
        "commit": commit(),  # with + if files differ from it
        "machine": machine(),
        "numpy": installed("numpy"),
        "gymnasium": installed("gymnasium"),
        "begun": now(),
        "ended": None,
    }
    entries.append(entry)
    write_json(run_dir / FILE, entries)
    try:
        yield
    finally:
        entry["ended"] = now()
        with suppress(UserError):  # the run is worth more
            write_json(run_dir / FILE, entries)
