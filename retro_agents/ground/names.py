"""Objects by name, imported on demand."""

import difflib
import importlib
from collections.abc import Iterable
from typing import Any


def named(name: str) -> Any:
    """Imports and returns the object MODULE:NAME, written as a package's entry point."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def nearest_text(name: str, known: Iterable[str]) -> str:
    """'did you mean X?' when a known name is close to `name`, else 'expected one of …'."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else f"expected one of: {', '.join(known)}"
