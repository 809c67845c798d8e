"""The robust oracle: a player with perfect knowledge, which cannot go back.

Under contest rules actions stick at random, so a plan cannot be replayed. At every step, this
player takes the action of the most similar state in a library. The library is built offline with
save and restore. It starts with the oracle's plan, then plays many episodes under random
stickiness. When one ends badly, a search from some steps before finds other ways; the one that
survives stickiness most often is stored, and advice that failed is trusted less. During
measurements the player neither saves, restores nor learns."""

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from cartridge.levels import oracle
from cartridge.levels.cells import Act
from cartridge.levels.console import Status
from cartridge.levels.library import Advice, Library, Memory, periods_of
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
from cartridge.levels.simulator import Simulator
from cartridge.levels.zones import name_of

EPISODES = 20
"""Measured episodes per act."""
BACK = (5, 9, 14, 20, 30, 45, 70, 100)
"""Steps before a bad end from which a search starts, in this order."""
BLAME = 16
"""Steps before a bad end whose advice counts as failed if no way was found."""
BUDGET = 500
"""Expansions of a search for a way."""
SAFE = 0.85
"""Share of sticky trials that a way should survive; otherwise the search starts further back."""
ALIKE = 2
"""Ways to compare among those that begin with the same five actions."""
STUCK = 150
"""Steps without progress that count as a bad end."""
BEYOND = 150
"""Pixels beyond the bad end that a way has to reach."""
ENOUGH = 60
"""Consecutive finished episodes after which practice ends."""
CANDIDATES, TRIALS = 12, 10
"""A search ends after CANDIDATES * ALIKE ways; each way has TRIALS sticky trials."""


@dataclass
class Step:
    """A step of a played episode, with the state to go back to it."""

    status: Status
    state: bytes
    memory: Memory
    advice: Advice | None


class Builder:
    """Builds the library of one act."""

    def __init__(
        self,
        simulator: Simulator,
        act: Act,
        rng: Random,
        *,
        effort: Mapping[int, float] = oracle.NO_EFFORT,
    ):
        """effort: of the searches for ways, see `oracle.search`."""
        self.simulator, self.act, self.rng, self.effort = simulator, act, rng, effort
        self.library = Library(periods_of(act))
        self.cell_of = oracle.cells_of(act)
        self.finished: deque[bool] = deque(maxlen=ENOUGH)

    def build(self, plan: list[int], *, episodes: int) -> Library:
        """Start from a plan and play `episodes` episodes, or until enough in a row finish."""
        self.simulator.start(name_of(self.act))
        self._remember(plan, Memory(), sticky=False)
        for _ in range(episodes):
            steps, end = self._play()
            self.finished.append(end.finished)
            back = 0 if end.finished else self._repair(steps, end)
            self._judge(steps, astray=back)
            if len(self.finished) == ENOUGH and all(self.finished):
                break
        return self.library

    def _remember(self, actions: Sequence[int], memory: Memory, *, sticky: bool) -> None:
        """Play actions from the simulator's state, and store the action of each state."""
        status = self.simulator.status()
        for action in actions:
            if status.over:
                return
            self.library.add(status, memory, action)
            late = sticky and self.rng.random() < STICK
            status = self.simulator.play((action,), stuck=(late,))[0]
            memory = memory.after(action, status)

    def _play(self) -> tuple[list[Step], Status]:
        """Play an episode with the library, under stickiness, cut when it makes no progress."""
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

    def _judge(self, steps: list[Step], *, astray: int) -> None:
        """Count how often advice was used, and how often it failed: in the last `astray` steps."""
        for i, step in enumerate(steps):
            if step.advice:
                step.advice.used += 1
                step.advice.astray += i >= len(steps) - astray

    def _repair(self, steps: list[Step], end: Status) -> int:
        """Search ways past a bad end from some steps before, and store the safest.

        Returns the number of steps from the mistake to the end."""
        goal = max(end.x, max(step.status.x for step in steps[-STUCK:])) + BEYOND
        best: tuple[float, int, tuple[int, ...]] | None = None
        for back in (back for back in BACK if back <= len(steps)):
            for actions in self._ways(steps[-back], goal):
                safe = self._safety(steps[-back], actions, past=end.x)
                if best is None or safe > best[0]:
                    best = (safe, back, actions)
            if best and best[0] > SAFE:
                break
        if best is None:
            return BLAME
        _, back, actions = best
        for sticky in (True, True, True, True, False):
            self.simulator.restore(steps[-back].state)
            self._remember(actions, steps[-back].memory, sticky=sticky)
        return back

    def _ways(self, step: Step, goal: int) -> Iterator[tuple[int, ...]]:
        """Some ways from a step to beyond x = goal, or to the next switch."""
        root = Node(step.status, step.state, (), None)
        starts: Counter[tuple[int, ...]] = Counter()
        nodes = oracle.search(self.simulator, root, self.cell_of, budget=BUDGET, effort=self.effort)
        for node in nodes:
            status = node.status
            switched = status.switches != step.status.switches
            if status.finished or switched or (status.x > goal and not status.flags & 1):
                actions = tuple(oracle.actions_to(node))
                starts[actions[:5]] += 1
                if starts[actions[:5]] <= ALIKE:
                    yield actions
                if starts.total() >= CANDIDATES * ALIKE:
                    return

    def _safety(self, step: Step, actions: Sequence[int], *, past: int) -> float:
        """Share of sticky trials of these actions that end alive and past a place."""
        alive = 0
        for _ in range(TRIALS):
            self.simulator.restore(step.state)
            stuck = [self.rng.random() < STICK for _ in actions]
            status = self.simulator.play(actions, stuck=stuck)[0]
            switched = status.switches != step.status.switches
            alive += not status.lost and (status.x > past or switched)
        return alive / TRIALS


def follower(library: Library) -> Player:
    """A player that follows the library."""
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
    """Play under contest rules with new random numbers, without saving or learning."""
    level = name_of(act)
    ends = [
        episode(simulator, level, follower(library), Random(f"{level}.robust-oracle.{number}"))
        for number in range(EPISODES)
    ]
    return summary(act, "robust-oracle", ends)


def measure_all(acts: list[Act], *, episodes: int, proofs: Path) -> Iterator[Reference]:
    """Measure every reference player on every act. episodes: the robust oracle's practice per act.

    proofs: the folder of the acts' proofs."""
    simulator = Simulator(acts)
    for act in acts:
        yield from measure_blind(simulator, act)
        plan = oracle.read_proof(name_of(act), folder=proofs)
        yield measure_oracle(simulator, act, plan)
        builder = Builder(simulator, act, Random(f"{name_of(act)}.practice"))
        library = builder.build(plan, episodes=episodes)
        yield measure(simulator, act, library)
