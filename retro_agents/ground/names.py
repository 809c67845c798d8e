"""Objects by name, imported on demand."""

import importlib
from typing import Any


def named(name: str) -> Any:
    """Imports and returns the object MODULE:NAME, written as a package's entry point."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)
