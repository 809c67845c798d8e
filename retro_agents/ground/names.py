"""Objects by name, imported on demand."""

import difflib
import importlib
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any


def find_here_too() -> None:
    """Let Python find modules in the current folder, but last of all: for names that a user gives.
    `python -m` does so by itself, a console command does not."""
    with suppress(OSError):  # of a folder that is gone
        if (here := str(Path.cwd())) not in sys.path:
            sys.path.append(here)


def named(name: str) -> Any:
    """Imports and returns the object MODULE:NAME, written as a package's entry point."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def nearest_text(name: str, known: Iterable[str]) -> str:
    """'did you mean X?' when a known name is close to `name`, else 'expected one of …'."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else f"expected one of: {', '.join(known)}"
