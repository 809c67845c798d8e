"""What was measured, as JSON with what it depends on: command, commit and machine."""

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
    """Size and versions, and nothing that names a machine."""
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
    """Its version; None where it is not: no image has everything."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def commit() -> str:
    """The commit measured; '+' when files differ from it; outside of a checkout the version that is
    installed; "unknown" without git."""
    if not (ROOT / ".git").exists():
        found = installed("retro-contest-agents")
        return f"version {found}" if found else "unknown"
    git = ["git", "describe", "--always", "--exclude=*", "--dirty=+"]
    try:
        done = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"


def write_result(path: Path, content: dict[str, Any], *, module: str) -> None:
    """Store what this command, `python -m MODULE …`, has measured. UserError: as `store`."""
    command = shlex.join(["python", "-m", module, *sys.argv[1:]])
    store(path, {"command": command, "commit": commit(), "machine": machine(), **content})


def store(path: Path, result: dict[str, Any]) -> None:
    """Write a result as JSON, whole or not at all. UserError: it cannot be written."""
    write_text(path, json.dumps(without_nan(result), indent=1, allow_nan=False) + "\n")


def read_result(path: Path, *, expected: str = "expected a result.json") -> dict[str, Any]:
    """A stored result. UserError: it is none; expected: what is said then."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot read {path}: {reason}; {expected}") from None
    if not isinstance(result, dict):
        raise UserError(f"{path} is no result: {expected}, one mapping")
    return result


def without_nan(content: Any) -> Any:
    """The same with null for nan, which JSON lacks: what is not known."""
    if isinstance(content, dict):
        return {name: without_nan(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [without_nan(value) for value in content]
    return None if isinstance(content, float) and math.isnan(content) else content
