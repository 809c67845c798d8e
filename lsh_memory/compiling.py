"""The kernels, compiled in a thread of their own: a run does not wait for it."""

import functools
import threading
from types import ModuleType
from typing import Any, final

import numpy as np

from lsh_memory import plain


@final
class Compiling:
    """Imports `kernels` and compiles them, or loads them from Numba's cache."""

    def __init__(self) -> None:
        self.module: ModuleType = plain
        """What searches now."""
        self.error: Exception | None = None
        self.thread = threading.Thread(target=self.compile, daemon=True)
        self.thread.start()

    def compile(self) -> None:
        """Calls each kernel once."""
        try:
            from lsh_memory import kernels

            size, features, words = 1, 2, 2
            signs, found = np.ones((plain.ROUNDS, 128), np.float32), np.empty(320, np.int32)
            codes, planes = np.zeros((256, words), np.uint64), np.zeros((2, 256), np.uint64)
            vectors, unit = np.ones((2, features), np.float32), np.ones(features, np.float32)
            memory = (vectors, unit, signs, planes, codes, found)
            kernels.sign_code(unit, unit, signs, codes[0])
            kernels.similar(memory, size, unit, 0, 0)
            slots, cosines = np.zeros((1, 1), np.int64), np.zeros((1, 1), np.float32)
            kernels.nearest(memory, size, vectors[:1], 1, 1, slots, cosines)
        except Exception as error:
            self.error = error
        else:
            self.module = kernels


@functools.cache
def started() -> Compiling:
    """The process's only one."""
    return Compiling()


def wait() -> None:
    """Wait until the kernels are compiled."""
    started().thread.join()


def kernels() -> Any:
    """What searches: the compiled kernels, or until they are ready, `plain`. Raises what compiling
    them raised."""
    compiling = started()
    if compiling.error is not None:
        raise compiling.error
    return compiling.module
