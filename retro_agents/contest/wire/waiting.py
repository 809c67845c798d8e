"""How a side waits for the other: asleep, or where answers come at once, spinning.

To be woken takes a process some 50 microseconds, and two sides that take turns are woken twice a
step, a fifth of an emulator's step. So where waits are short, and no other process wants the
core, `SpinWait` asks again and again instead of sleeping.
"""

import os
import socket
import time
from typing import final

from retro_agents.ground.cores import free_cores

SHORT_SECONDS = 0.001
"""Waits that are longer on average are slept through: being woken is little beside them."""
LONGEST_SECONDS = 0.004
"""As which longer waits count, so that one does not outweigh a hundred."""
WEIGHT = 1 / 16
"""Of the last wait in the average."""
GAP_SECONDS = 0.0001
"""Between two questions: in a longer one, another process had the core."""
RESTS = (16, 1024)
"""Waits that are slept through after such a gap: at first, and at most. Twice as many after each
gap, one less after each wait that was not slept through."""


@final
class SpinWait:
    """Before each wait: `spin`; where that brings nothing, sleep; after it: `waited`.

    average: of the last waits, in seconds. rest: how many waits are still to be slept through.
    """

    def __init__(self) -> None:
        self.average = 0.0
        self.sleeps = free_cores() < 2  # the other side needs a core too
        self.rest = 0
        self.next_rest = RESTS[0]

    def spin(self, sock: socket.socket, size: int) -> bytes | None:
        """Up to `size` bytes that come within about twice the average wait, b"" where the other
        side has left; None where it is time to sleep. Errors: OSError.
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
