"""Matplotlib, with which only pictures in files are drawn."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def any_backend() -> Iterator[None]:
    """Lets matplotlib be imported whatever MPLBACKEND says: Jupyter exports the name of its own
    back end, with which matplotlib cannot be imported where that is not installed."""
    named = os.environ.pop("MPLBACKEND", None)
    try:
        yield
    finally:
        if named is not None:
            import matplotlib

            os.environ["MPLBACKEND"] = named
            with suppress(ValueError):
                matplotlib.rcParams["backend"] = named
