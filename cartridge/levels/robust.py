"""The robust oracle: what a player with perfect knowledge scores who cannot go back.

Contest rules make actions stick, so no plan replays. This player looks up, at every step, the most
similar state of a library and takes the action that stands there. The library is built offline
with save and restore: it begins with the oracle's plan, then plays under random stickiness again
and again; where that ends badly, a search from some steps before finds ways on, the one that
survives stickiness most often is kept, and advice that led astray is trusted less. While it is
measured it neither saves nor restores, and learns nothing."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from cartridge.levels import oracle
from cartridge.levels.cells import CELL, Act, SpawnKind
from cartridge.levels.console import Status
from cartridge.levels.oracle import Node
from cartridge.levels.references import (
    STEP_LIMIT,
    STICK,
    Player,
    Reference,
    episode,
    measure_blind,
    measure_oracle,
    summary,
)
from cartridge.levels.simulator import Simulator, name_of

EPISODES = 20
"""Episodes that are measured on an act."""
BIN = 32
"""Pixels of a bin of the library."""
POSE = 1 | 2 | 4 | 8
"""Flags that must agree: in the air, ball, charging, crouching."""
CHARGING = 4
SCALES = (8.0, 12.0, 192.0, 256.0, 8.0)
"""Differences of x, y, speed_x, speed_y and clock that count as one."""
NEAR = 0.3
"""Two states nearer than this are the same advice."""
DISTRUST = 6.0
"""What advice that always led astray counts as further away."""
FAR = 9.0
"""No advice from further away."""
TIMED_REACH = 260
"""Pixels around a thing that moves by the clock in which the time matters."""
BACK = (5, 9, 14, 20, 30, 45)
"""Steps before a bad end from which a way on is sought, in this order."""
BLAME = 16
"""Steps before a bad end whose advice is to blame."""
STUCK = 150
"""Steps without getting further that count as a bad end."""
BEYOND = 150
"""Pixels beyond the bad end that a way on has to reach."""
CANDIDATES, TRIALS = 8, 8
"""Ways on that are compared, and sticky trials of each."""


@dataclass(frozen=True)
class Memory:
    """What the player knows of himself: the action before, and the steps he has charged for."""

    held: int = -1
    charged: int = 0

    def after(self, action: int, status: Status) -> "Memory":
        """After an action that led to a state."""
        return Memory(action, self.charged + 1 if status.flags & CHARGING else 0)


@dataclass
class Advice:
    """What to do in a state."""

    point: tuple[int, int, int, int, int]
    action: int
    used: int = 0
    astray: int = 0

    @property
    def distrust(self) -> float:
        return DISTRUST * self.astray / self.used if self.used else 0.0


@dataclass
class Library:
    """States of an act and what to do there, by pose and bin of x."""

    periods: list[int]
    """By bin of x: the period, in frames, of what moves by the clock nearby; 0: nothing."""
    advices: dict[tuple[int, ...], list[Advice]] = field(default_factory=dict)

    def add(self, status: Status, memory: Memory, action: int) -> None:
        """Remember an action. In the same state the last one counts: it leads out of it."""
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
                away = _away(advice.point, point, period) + advice.distrust
                if away < least:
                    best, least = advice, away
        return best

    def _period(self, status: Status) -> int:
        return self.periods[min(status.x // BIN, len(self.periods) - 1)]

    def _point(self, status: Status) -> tuple[int, int, int, int, int]:
        period = self._period(status)
        clock = status.frame % period if period else 0
        return status.x, status.y, status.speed_x, status.speed_y, clock

    def _key(self, status: Status, memory: Memory) -> tuple[int, ...]:
        pressed = memory.held in (oracle.JUMP, oracle.DASH)
        return status.flags & POSE, status.switches, pressed, memory.charged


def _away(a: Sequence[int], b: Sequence[int], period: int) -> float:
    """How different two states are; clocks go round."""
    clock = abs(a[4] - b[4])
    return (
        abs(a[0] - b[0]) / SCALES[0]
        + abs(a[1] - b[1]) / SCALES[1]
        + abs(a[2] - b[2]) / SCALES[2]
        + abs(a[3] - b[3]) / SCALES[3]
        + min(clock, period - clock) / SCALES[4]
    )


def periods_of(act: Act) -> list[int]:
    """By bin of x, the period of the nearest thing that moves by the clock; 0: none is near."""
    timed = [(s.x, _period(s.kind, s.arg, s.arg2)) for s in act.spawns if s.kind in oracle.TIMED]
    periods = []
    for place in range(0, act.width * CELL + BIN, BIN):
        near = min(((abs(x - place), period) for x, period in timed), default=(TIMED_REACH, 0))
        periods.append(near[1] if near[0] < TIMED_REACH else 0)
    return periods


def _period(kind: SpawnKind, arg: int, arg2: int) -> int:
    return 8 * (arg if kind is SpawnKind.PISTON else arg2)


@dataclass
class Step:
    """A step of a played episode, with what is needed to go back to it."""

    status: Status
    state: bytes
    memory: Memory
    advice: Advice | None


class Builder:
    """Builds the library of one act."""

    def __init__(self, simulator: Simulator, act: Act, rng: Random):
        self.simulator, self.act, self.rng = simulator, act, rng
        self.library = Library(periods_of(act))
        self.cell_of = oracle.cells_of(act)
        self.finished: deque[bool] = deque(maxlen=40)

    def build(self, plan: list[int], *, episodes: int) -> Library:
        """Start from a plan and play so many episodes, or until the last 40 finished."""
        self.simulator.start(name_of(self.act))
        self._remember(plan, Memory(), sticky=False)
        for _ in range(episodes):
            steps, end = self._play()
            self.finished.append(end.finished)
            self._judge(steps, astray=not end.finished)
            if not end.finished:
                self._repair(steps, end)
            if len(self.finished) == 40 and all(self.finished):
                break
        return self.library

    def _remember(self, actions: Sequence[int], memory: Memory, *, sticky: bool) -> None:
        """Play actions from where the simulator is, and keep what they do in each state."""
        status = self.simulator.status()
        for action in actions:
            if status.over:
                return
            self.library.add(status, memory, action)
            late = sticky and self.rng.random() < STICK
            status = self.simulator.play((action,), stuck=(late,))[0]
            memory = memory.after(action, status)

    def _play(self) -> tuple[list[Step], Status]:
        """An episode with the library, under stickiness, cut when it gets no further."""
        status, memory = self.simulator.start(name_of(self.act)), Memory()
        steps: list[Step] = []
        furthest, since = 0, 0
        while not status.over and since < STUCK and len(steps) < STEP_LIMIT:
            advice = self.library.find(status, memory)
            steps.append(Step(status, self.simulator.save(), memory, advice))
            action = advice.action if advice else oracle.RIGHT
            late = self.rng.random() < STICK
            status = self.simulator.play((action,), stuck=(late,))[0]
            memory = memory.after(action, status)
            mark = status.x + 100_000 * status.switches.bit_count()
            since = 0 if mark > furthest else since + 1
            furthest = max(furthest, mark)
        return steps, status

    def _judge(self, steps: list[Step], *, astray: bool) -> None:
        """Count how often advice was used, and how often shortly before a bad end."""
        blamed = len(steps) - BLAME if astray else len(steps)
        for i, step in enumerate(steps):
            if step.advice:
                step.advice.used += 1
                step.advice.astray += i >= blamed

    def _repair(self, steps: list[Step], end: Status) -> None:
        """Search ways past a bad end from some steps before, and keep the safest."""
        goal = max(end.x, max(step.status.x for step in steps[-STUCK:])) + BEYOND
        best: tuple[float, Step, tuple[int, ...]] | None = None
        for back in BACK:
            step = steps[max(0, len(steps) - back)]
            for actions in self._ways(step, goal):
                safe = self._safety(step, actions, past=end.x)
                if best is None or safe > best[0]:
                    best = (safe, step, actions)
            if best and best[0] > 0.8:
                break
        if best:
            _, step, actions = best
            for _ in range(4):
                self.simulator.restore(step.state)
                self._remember(actions, step.memory, sticky=True)
            self.simulator.restore(step.state)
            self._remember(actions, step.memory, sticky=False)

    def _ways(self, step: Step, goal: int) -> Iterator[tuple[int, ...]]:
        """Some ways from a step to beyond x = goal, or to the next switch."""
        root = Node(step.status, step.state, (), None)
        found = 0
        for node in oracle.search(self.simulator, root, self.cell_of, budget=400):
            status = node.status
            switched = status.switches != step.status.switches
            if status.finished or switched or (status.x > goal and not status.flags & 1):
                yield tuple(oracle.actions_to(node))
                found += 1
                if found == CANDIDATES:
                    return

    def _safety(self, step: Step, actions: Sequence[int], *, past: int) -> float:
        """Share of sticky trials of some actions that end alive and past a place."""
        alive = 0
        for _ in range(TRIALS):
            self.simulator.restore(step.state)
            stuck = [self.rng.random() < STICK for _ in actions]
            status = self.simulator.play(actions, stuck=stuck)[0]
            switched = status.switches != step.status.switches
            alive += not status.lost and (status.x > past or switched)
        return alive / TRIALS


def follower(library: Library) -> Player:
    """A player that does what the library says."""
    memory, action = Memory(), -1

    def player(status: Status) -> int:
        nonlocal memory, action
        if action >= 0:
            memory = memory.after(action, status)
        advice = library.find(status, memory)
        action = advice.action if advice else oracle.RIGHT
        return action

    return player


def measure(simulator: Simulator, act: Act, library: Library) -> Reference:
    """Play under contest rules with fresh chance: no saving, no learning."""
    level = name_of(act)
    ends = [
        episode(simulator, level, follower(library), Random(f"{level}.robust-oracle.{number}"))
        for number in range(EPISODES)
    ]
    return summary(act, "robust-oracle", ends)


def measure_all(acts: list[Act], *, episodes: int) -> Iterator[Reference]:
    """Every reference player on every act; episodes: the robust oracle's practice on an act."""
    simulator = Simulator(acts)
    for act in acts:
        yield from measure_blind(simulator, act)
        yield measure_oracle(simulator, act)
        builder = Builder(simulator, act, Random(f"{name_of(act)}.practice"))
        library = builder.build(oracle.read_proof(name_of(act)), episodes=episodes)
        yield measure(simulator, act, library)
