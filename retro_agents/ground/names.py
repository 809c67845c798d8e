"""Objects by their names, imported when they are asked for."""

import importlib
from typing import Any


def named(name: str) -> Any:
    """MODULE:NAME -> the object, as packages' entry points are written."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)
