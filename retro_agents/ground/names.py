"""Names that a user gives."""

import difflib
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def find_here_too() -> None:
    """Let Python find modules in the current folder, but last of all: for names that a user gives.
    `python -m` does so by itself, a console command does not."""
    with suppress(OSError):  # of a folder that is gone
        if (here := str(Path.cwd())) not in sys.path:
            sys.path.append(here)


def nearest_text(name: str, known: Iterable[str]) -> str:
    """'did you mean X?' when a known name is close to `name`, else 'expected one of …'."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else f"expected one of: {', '.join(known)}"
