"""Where a run comes from: provenance.json in its folder, with an entry for each start."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
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


def program() -> str:
    """What starts this program, such as `python -m ppo2.train` or `retro-agents train ppo2`."""
    if sys.argv[0].startswith("retro-agents "):
        return sys.argv[0]
    path = Path(sys.argv[0]).resolve()
    names = [path.stem]
    for folder in path.parents:
        if not (folder / "__init__.py").is_file():
            break
        names.insert(0, folder.name)
    if names[1:]:
        return f"python -m {'.'.join(names)}"
    given = Path(sys.argv[0])
    return f"python {quote(given.name if given.is_absolute() else str(given))}"


@contextmanager
def recorded(run_dir: Path, agent: str, *, env_steps: int, **where: Any) -> Iterator[None]:
    """Adds an entry for this start, and its end when the context ends; a killed run has no end.

    env_steps: of the checkpoint that the run resumes from, or 0. where: it runs: its device, and
    the number of its processes. Raises UserError if the file cannot be written at the start.
    """
    entries = read(run_dir)
    entry: dict[str, Any] = {
        "agent": agent,
        "from_step": env_steps,
        "command": " ".join([program(), *map(quote, sys.argv[1:])]),
        **where,
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
