"""Matplotlib, with which only pictures in files are drawn."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def any_backend() -> Iterator[None]:
    """Lets matplotlib be imported whatever MPLBACKEND says: Jupyter sets it to a back end of its
    own, and where that is not installed, importing matplotlib fails."""
    named = os.environ.pop("MPLBACKEND", None)
    try:
        yield
    finally:
        if named is not None:
            import matplotlib

            os.environ["MPLBACKEND"] = named
            with suppress(ValueError):
                matplotlib.rcParams["backend"] = named
