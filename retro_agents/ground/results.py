"""Measurements as JSON, with the command, commit and machine that they depend on."""

import json
import math
import os
import platform
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from retro_agents.ground.errors import UserError
from retro_agents.ground.files import write_text
from retro_agents.ground.requirements import ROOT


def machine() -> dict[str, Any]:
    """Returns the machine's size and versions, and nothing that identifies it."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30, 1),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "stable_retro": installed("stable-retro"),
        "torch": installed("torch"),
    }


def installed(package: str) -> str | None:
    """Returns a package's version, or None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def commit() -> str:
    """Returns the current commit, with '+' if files differ from it. Outside a checkout: the
    installed version, or "unknown"; also "unknown" without git."""
    if not (ROOT / ".git").exists():
        version = installed("retro-contest-agents")
        return f"version {version}" if version else "unknown"

    def git(*words: str) -> str:
        given = ["git", "--no-optional-locks", *words]
        return subprocess.run(given, cwd=ROOT, capture_output=True, text=True).stdout.strip()

    try:
        found = git("describe", "--always", "--exclude=*")
        # Not `describe --dirty`: it locks the index, and if it is killed the lock stays.
        differs = git("status", "--porcelain", "--untracked-files=no")
    except OSError:
        return "unknown"
    return f"{found}{'+' if differs else ''}" if found else "unknown"


def write_result(path: Path, content: dict[str, Any], *, module: str) -> None:
    """Stores the result of this command, `python -m MODULE …`. Raises UserError as `store` does."""
    command = shlex.join(["python", "-m", module, *sys.argv[1:]])
    store(path, {"command": command, "commit": commit(), "machine": machine(), **content})


def store(path: Path, result: dict[str, Any]) -> None:
    """Writes a result as JSON atomically. Raises UserError if it cannot be written."""
    write_text(path, json.dumps(without_nan(result), indent=1, allow_nan=False) + "\n")


def read_result(path: Path, *, expected: str = "expected a result.json") -> dict[str, Any]:
    """Returns a stored result. Raises UserError, which says `expected`, if it is not readable."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot read {path}: {reason}; {expected}") from None
    if not isinstance(result, dict):
        raise UserError(f"{path} is not a result: {expected}, one mapping")
    return result


def without_nan(content: Any) -> Any:
    """Replaces nan, an unknown number, by None, since JSON lacks nan."""
    if isinstance(content, dict):
        return {name: without_nan(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [without_nan(value) for value in content]
    return None if isinstance(content, float) and math.isnan(content) else content
