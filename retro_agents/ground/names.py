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


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """The known name that is closest to `name`, in whatever case; "" if none is close."""
    lower = {one.lower(): one for one in known}
    close = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=cutoff)
    return lower[close[0]] if close else ""


def nearest_text(name: str, known: Iterable[str]) -> str:
    """'did you mean X?' when a known name is close to `name`, else 'expected one of …'."""
    known = list(known)
    close = nearest(name, known)
    return f"did you mean {close!r}?" if close else f"expected one of: {', '.join(known)}"
