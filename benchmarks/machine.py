"""What a benchmark's numbers depend on, and where they are kept."""

import json
import math
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable, Collection
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from experiment.errors import UserError
from experiment.files import write_text

HERE = Path(__file__).parent
RESULTS = HERE / "results"
T = TypeVar("T")


def machine() -> dict[str, Any]:
    """Size and versions, and nothing that names a machine."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30, 1),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "stable_retro": version("stable-retro"),
        "torch": version("torch"),
    }


def commit() -> str:
    """The commit measured; '+' when files differ from it; "unknown" without git."""
    git = ["git", "describe", "--always", "--exclude=*", "--dirty=+"]
    try:
        done = subprocess.run(git, cwd=HERE, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def write_result(name: str, content: dict[str, Any], *, suffix: str = "") -> Path:
    """Store the outcome of benchmarks.NAME, with command, commit and machine, as
    results/NAME{suffix}.json."""
    command = shlex.join(["python", "-m", f"benchmarks.{name}", *sys.argv[1:]])
    result = {"command": command, "commit": commit(), "machine": machine(), **content}
    path = RESULTS / f"{name}{suffix}.json"
    store(path, result)
    return path


def store(path: Path, result: dict[str, Any]) -> None:
    """Write a result as JSON, whole or not at all. UserError: it cannot be written."""
    write_text(path, json.dumps(without_nan(result), indent=1, allow_nan=False) + "\n")


def read_result(path: Path, read: Callable[[Any], T]) -> T:
    """What `read` finds in a result that was stored. UserError: it is none of this benchmark."""
    try:
        return read(json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path} is no result of this benchmark ({error!r}); "
            "expected its result.json, or what it wrote with --write"
        ) from error


def check_settings(path: Path, differing: Collection[str]) -> None:
    """UserError: a stored result differs from what is measured now in settings that matter."""
    if differing:
        raise UserError(
            f"{path} was measured with other settings ({', '.join(differing)}); "
            "give the same, or leave --earlier out"
        )


def without_nan(content: Any) -> Any:
    """The same with null for nan, which JSON lacks: what is not known."""
    if isinstance(content, dict):
        return {name: without_nan(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [without_nan(value) for value in content]
    return None if isinstance(content, float) and math.isnan(content) else content
