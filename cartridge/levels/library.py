"""The robust oracle's library of an act: states, and the action in each."""

from dataclasses import dataclass, field

from cartridge.levels import oracle
from cartridge.levels.cells import CELL, Act, SpawnKind
from cartridge.levels.console import Status

BIN = 32
"""Width of the library's bins, in pixels."""
POSE = 1 | 2 | 4 | 8
"""Flags that must agree: in the air, ball, charging, crouching."""
CHARGING = 4
X, Y, SPEED_X, SPEED_Y, CLOCK = 8.0, 12.0, 192.0, 256.0, 8.0
"""Differences that count as one."""
NEAR = 0.3
"""States nearer to each other than this share one advice."""
DISTRUST = 6.0
"""Extra distance of advice that always failed."""
FAR = 9.0
"""Advice from further away is not used."""
TIMED_REACH = 260
"""Pixels around an object that moves by the clock within which time matters."""


@dataclass(frozen=True)
class Memory:
    """The player's own state: the action before, and the number of steps that he has charged."""

    held: int = -1
    charged: int = 0

    def after(self, action: int, status: Status) -> "Memory":
        """The memory after an action that led to a state."""
        return Memory(action, self.charged + 1 if status.flags & CHARGING else 0)


Point = tuple[int, int, int, int, int]
"""x, y, speed_x, speed_y, and the time near objects that move by the clock."""


@dataclass
class Advice:
    """The action to take in a state."""

    point: Point
    action: int
    used: int = 0
    astray: int = 0

    @property
    def distrust(self) -> float:
        return DISTRUST * self.astray / self.used if self.used else 0.0


@dataclass
class Library:
    """States of an act and the actions in them, by pose and bin of x."""

    periods: list[int]
    """By bin of x: the period, in frames, of a nearby object that moves by the clock; 0: none."""
    advices: dict[tuple[int, ...], list[Advice]] = field(default_factory=dict)

    def add(self, status: Status, memory: Memory, action: int) -> None:
        """Store an action. In the same state the last one counts, since it leads out of it."""
        point, key = self._point(status), self._key(status, memory)
        here = self.advices.setdefault((*key, status.x // BIN), [])
        period = self._period(status)
        here[:] = [a for a in here if a.action == action or _away(a.point, point, period) >= NEAR]
        if not any(_away(a.point, point, period) < NEAR for a in here):
            here.append(Advice(point, action))

    def find(self, status: Status, memory: Memory) -> Advice | None:
        """The advice of the most similar state."""
        point, key, period = self._point(status), self._key(status, memory), self._period(status)
        best, least = None, FAR
        for bin_of_x in range(status.x // BIN - 1, status.x // BIN + 2):
            for advice in self.advices.get((*key, bin_of_x), ()):
                if abs(advice.point[0] - point[0]) < least * X:
                    away = _away(advice.point, point, period) + advice.distrust
                    if away < least:
                        best, least = advice, away
        return best

    def _period(self, status: Status) -> int:
        return self.periods[min(status.x // BIN, len(self.periods) - 1)]

    def _point(self, status: Status) -> Point:
        period = self._period(status)
        clock = status.frame % period if period else 0
        return status.x, status.y, status.speed_x, status.speed_y, clock

    def _key(self, status: Status, memory: Memory) -> tuple[int, ...]:
        pressed = memory.held in (oracle.JUMP, oracle.DASH)
        return status.flags & POSE, status.switches, pressed, memory.charged


def _away(a: Point, b: Point, period: int) -> float:
    """The distance of two states; times wrap around. period: that of b; a may have another if it is
    from a neighbouring bin of x."""
    clock = abs(a[4] - b[4]) % period if period else 0
    return (
        abs(a[0] - b[0]) / X
        + abs(a[1] - b[1]) / Y
        + abs(a[2] - b[2]) / SPEED_X
        + abs(a[3] - b[3]) / SPEED_Y
        + min(clock, period - clock) / CLOCK
    )


def periods_of(act: Act) -> list[int]:
    """By bin of x, the period of the nearest object that moves by the clock; 0: none is near."""
    timed = [
        (s.x, 8 * (s.arg if s.kind is SpawnKind.PISTON else s.arg2))
        for s in act.spawns
        if s.kind in oracle.TIMED
    ]
    periods = []
    for place in range(0, act.width * CELL + BIN, BIN):
        near = min(((abs(x - place), period) for x, period in timed), default=(TIMED_REACH, 0))
        periods.append(near[1] if near[0] < TIMED_REACH else 0)
    return periods
