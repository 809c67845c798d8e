"""The kernels, compiled in a thread of their own, for which a run does not wait."""

import functools
import threading
from concurrent.futures import Future
from types import ModuleType
from typing import Any

import numpy as np

from lsh_memory import plain


def compiled() -> ModuleType:
    """The kernels, each called once: that compiles it, or loads it from Numba's cache. With
    compiling disabled (NUMBA_DISABLE_JIT=1), `plain`."""
    from numba import config

    from lsh_memory import kernels

    if getattr(config, "DISABLE_JIT", False):  # set when Numba is imported
        return plain
    size, features, words = 1, 2, 2
    signs, found = np.ones((plain.ROUNDS, 128), np.float32), np.empty(320, np.int32)
    codes, planes = np.zeros((256, words), np.uint64), np.zeros((2, 256), np.uint64)
    vectors, unit = np.ones((2, features), np.float32), np.ones(features, np.float32)
    memory = (vectors, unit, signs, planes, codes, found)
    kernels.sign_code(unit, unit, signs, codes[0])
    kernels.similar(memory, size, codes[0], 0, 0)
    slots, cosines = np.zeros((1, 1), np.int64), np.zeros((1, 1), np.float32)
    kernels.nearest(memory, size, vectors[:1], 1, 1, slots, cosines)
    return kernels


@functools.cache
def started() -> Future[ModuleType]:
    """Starts the process's only compilation, in a daemon thread."""
    future: Future[ModuleType] = Future()

    def work() -> None:
        try:
            future.set_result(compiled())
        except Exception as error:
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return future


def wait() -> None:
    """Wait until the kernels are compiled."""
    started().exception()


def kernels() -> Any:
    """The module that searches: the compiled kernels or, until they are ready, `plain`. Raises the
    error of a failed compilation."""
    compiling = started()
    return compiling.result() if compiling.done() else plain
