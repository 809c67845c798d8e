"""Functions compiled by Numba, whose machine code is kept on the disk where that is possible."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])


def compiled(**options: Any) -> Callable[[F], F]:
    """`numba.njit` with a cache on the disk. Without a place for one (a read-only project and no
    home folder, or a full disk) each process compiles for itself. A damaged cache begins anew."""

    def wrapped(function: F) -> F:
        try:
            made: Any = njit(cache=True, **options)(function)
        except RuntimeError:  # neither the project nor the user's cache can be written
            return njit(**options)(function)
        if (cache := getattr(made, "_cache", None)) is not None:  # None: compiling is disabled
            cache.save_overload = _if_possible(cache.save_overload)
            cache.load_overload = _without_damage(cache)
        return made

    return wrapped


def _if_possible(save: Callable[..., None]) -> Callable[..., None]:
    def saved(*args: Any) -> None:
        with suppress(Exception):  # a full disk, or one that keeps a damaged index
            save(*args)

    return saved


def _without_damage(cache: Any) -> Callable[..., Any]:
    load = cache.load_overload

    def loaded(*args: Any) -> Any:
        try:
            return load(*args)
        except Exception:  # of pickle, which has many: a loss of power leaves empty files
            with suppress(OSError):
                cache.flush()
            return None

    return loaded
