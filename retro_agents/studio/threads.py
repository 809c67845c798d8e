"""Work that may wait for a disk, in threads, so that nothing else of the studio waits with it."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread

from retro_agents.ground.errors import UserError

MOST_AT_ONCE = 3
"""Calls of a kind that may wait for disks at a time."""
PATIENCE = 2.0
"""Seconds for which a call waits for its turn."""
P = ParamSpec("P")
T = TypeVar("T")


def limited(work: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """A function that runs `work` in a thread of its own, few calls at a time: those that wait for
    a slow disk keep no thread from the others. Raises UserError if a call has no turn."""
    room = asyncio.Semaphore(MOST_AT_ONCE)

    @functools.wraps(work)
    async def done(*given: P.args, **named: P.kwargs) -> T:
        try:
            await asyncio.wait_for(room.acquire(), PATIENCE)
        except TimeoutError:
            reason = "a disk has not answered what was asked before: try again later"
            raise UserError(reason) from None
        try:
            call = functools.partial(work, *given, **named)
            return await to_thread.run_sync(call, limiter=CapacityLimiter(1))
        finally:
            room.release()

    return done
