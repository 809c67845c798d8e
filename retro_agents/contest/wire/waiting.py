"""How a side waits for the other: by sleeping, or by spinning if answers come fast.

Waking a process takes about 50 microseconds. Two sides that take turns are woken twice a step,
which is a fifth of an emulator's step. So if waits are short and no other process needs the core,
`SpinWait` polls instead of sleeping.
"""

import os
import socket
import time
from typing import final

from retro_agents.ground.cores import free_cores

SHORT_SECONDS = 0.001
"""Above this average, waits are slept through, because waking up costs little beside them."""
LONGEST_SECONDS = 0.004
"""Cap on longer waits in the average, so that one does not outweigh a hundred."""
WEIGHT = 1 / 16
"""Weight of the last wait in the average."""
GAP_SECONDS = 0.0001
"""Longest time between two polls; after a longer one, another process had the core."""
RESTS = (16, 1024)
"""Waits that are slept through after such a gap, at first and at most. The number doubles after
each gap, and falls by one after each wait that was not slept through."""


@final
class SpinWait:
    """Call `spin` before each wait; sleep if it returns nothing; call `waited` after the wait.

    average: of the last waits, in seconds. rest: how many more waits to sleep through.
    """

    def __init__(self) -> None:
        self.average = 0.0
        self.sleeps = free_cores() < 2  # the other side needs a core too
        self.rest = 0
        self.next_rest = RESTS[0]

    def spin(self, sock: socket.socket, size: int) -> bytes | None:
        """Poll for up to `size` bytes for about twice the average wait. Returns b"" if the other
        side has left, None if it is time to sleep. Raises OSError.
        """
        if self.sleeps or self.average > SHORT_SECONDS:
            return None
        if self.rest:
            self.rest -= 1
            return None
        asked = time.perf_counter()
        end = asked + 2 * self.average + GAP_SECONDS
        while asked < end:
            try:
                found = sock.recv(size, socket.MSG_DONTWAIT)
            except BlockingIOError:
                os.sched_yield()
            else:
                self.next_rest = max(self.next_rest - 1, RESTS[0])
                return found
            now = time.perf_counter()
            if now - asked > GAP_SECONDS:
                self.rest = self.next_rest
                self.next_rest = min(2 * self.next_rest, RESTS[1])
                break
            asked = now
        return None

    def waited(self, seconds: float) -> None:
        """Count a wait, however it was spent."""
        self.average += WEIGHT * (min(seconds, LONGEST_SECONDS) - self.average)
