"""The oracle: finishes every act by a search with save and restore, and records the actions.

The search is best-first, over short scripts of contest actions (four frames each, without
stickiness), in the native engine. It stores one state per cell of place, speed, switches and, near
objects that move by the clock, time. It expands the state furthest to the right, but each further
state stored in a region counts against that region, so that the search turns back where it is
stuck. The result is replayed in the emulator and committed in proofs/: it proves that every act can
be finished."""

import heapq
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cartridge.levels.cells import Act, SpawnKind
from cartridge.levels.console import Console, Status
from cartridge.levels.simulator import Simulator
from cartridge.levels.zones import name_of
from retro_agents.ground.errors import UserError

PROOFS = Path(__file__).parent / "proofs"
LEFT, RIGHT, ROLL, DOWN, DASH, JUMP = 0, 1, 3, 4, 5, 6
LETTERS = "LRlrdDJ"
"""Letters of the actions: L left, R right, l and r with down, d down, D dash, J jump."""
HOLDS, FLIGHTS = (1, 2, 4), (3, 9)
SCRIPTS: tuple[tuple[int, ...], ...] = (
    *((JUMP,) * hold + (RIGHT,) * flight for flight in FLIGHTS for hold in HOLDS),
    *((JUMP,) * hold + (LEFT,) * flight for flight in FLIGHTS for hold in (2, 4)),
    (RIGHT,) * 2,
    (RIGHT,) * 5,
    (RIGHT,) * 12,
    (ROLL,) * 6,
    (LEFT,) * 2,
    (LEFT,) * 5,
    (LEFT,) * 12,
    (DOWN,) * 2,
    (DOWN,) * 6,
    (DOWN, DOWN, DASH, DASH, RIGHT, ROLL, ROLL),
    (DOWN, DOWN, DASH, DOWN, DASH, DOWN, DASH, RIGHT, ROLL, ROLL),
)
TIMED = {SpawnKind.PLATFORM_X, SpawnKind.PLATFORM_Y, SpawnKind.PISTON}
TIMED_REACH = 400
"""Pixels around an object that moves by the clock within which time is part of a cell."""
TICK, ROUND = 16, 20
"""Frames of a tick, and ticks after which time wraps around."""
CROWDING = 3.0
"""Pixels by which each state stored in a region counts against it."""
SWITCH_BONUS = 1000
NO_EFFORT: Mapping[int, float] = {}


CellOf = Callable[[Status], tuple[int, ...]]
"""Maps a status to its cell; states of the same cell count as equal."""


@dataclass(frozen=True)
class Node:
    """A node of the search: the way to it, and the machine's state there."""

    status: Status
    state: bytes
    script: tuple[int, ...]
    parent: "Node | None"
    effort: float = 0.0
    """Pixels by which the actions on the way count against it."""


def plan(
    simulator: Simulator, act: Act, *, budget: int = 20_000, effort: Mapping[int, float] = NO_EFFORT
) -> list[int]:
    """Actions that finish an act. Raises UserError if budget expansions do not suffice.

    effort: see `search`."""
    level = name_of(act)
    root = Node(simulator.start(level), simulator.save(), (), None)
    furthest = root.status.x
    for node in search(simulator, root, cells_of(act), budget=budget, effort=effort):
        if node.status.finished:
            return actions_to(node)
        furthest = max(furthest, node.status.x)
    raise UserError(f"{level}: the oracle is stuck at x = {furthest}; change the act")


def search(
    simulator: Simulator,
    root: Node,
    cell_of: CellOf,
    *,
    budget: int,
    effort: Mapping[int, float] = NO_EFFORT,
) -> Iterator[Node]:
    """Yields every new state found from a root, best first, until budget nodes were expanded.

    effort: cost in pixels of starting an action, so that the search does so only where it must."""
    order = itertools.count()
    queue = [(0.0, next(order), root)]
    seen: set[tuple[int, ...]] = set()
    crowd: Counter[tuple[int, ...]] = Counter()
    for _ in range(budget):
        if not queue:
            return
        _, _, node = heapq.heappop(queue)
        for script in SCRIPTS:
            simulator.restore(node.state)
            status, done = simulator.play(script)
            cell = cell_of(status)
            if status.lost or cell in seen:
                continue
            seen.add(cell)
            spent = sum(effort.get(action, 0.0) for action, _ in itertools.groupby(script))
            child = Node(status, simulator.save(), script[:done], node, node.effort + spent)
            yield child
            region = (status.x // 64, status.y // 64, status.switches)
            crowd[region] += 1
            cost = _cost(status) + CROWDING * crowd[region] + child.effort
            if not status.finished:
                heapq.heappush(queue, (cost, next(order), child))


def _cost(status: Status) -> float:
    """The priority, lowest first: far to the right, early, and fast."""
    switched = SWITCH_BONUS * status.switches.bit_count()
    return -status.x - switched - 0.05 * status.speed_x + 0.5 * status.frame


def cells_of(act: Act) -> CellOf:
    """The function that maps a status to its cell in an act."""
    timed = [spawn.x for spawn in act.spawns if spawn.kind in TIMED]
    near = [
        any(abs(x * TIMED_REACH // 4 - t) < TIMED_REACH for t in timed)
        for x in range(act.width * 16 * 4 // TIMED_REACH + 2)
    ]

    def cell(status: Status) -> tuple[int, ...]:
        place = (status.x // 12, status.y // 24, status.speed_x // 384, status.speed_y // 512)
        clock = status.frame // TICK % ROUND if near[status.x * 4 // TIMED_REACH] else 0
        return (*place, status.switches, status.flags & 4, clock)

    return cell


def actions_to(node: Node) -> list[int]:
    """All actions from the start to a node."""
    scripts: list[tuple[int, ...]] = []
    at: Node | None = node
    while at is not None:
        scripts.append(at.script)
        at = at.parent
    return [action for script in reversed(scripts) for action in script]


def encode(actions: list[int]) -> str:
    """Encodes actions as runs of equal ones: 'R12 J3 R9'."""
    runs = [(action, len(list(group))) for action, group in itertools.groupby(actions)]
    return " ".join(f"{LETTERS[action]}{count}" for action, count in runs)


def decode(text: str) -> list[int]:
    """The actions of an encoded proof."""
    return [LETTERS.index(run[0]) for run in text.split() for _ in range(int(run[1:]))]


def replay(console: Console | Simulator, level: str, actions: list[int]) -> Status:
    """Play actions from a level's start, until the episode ends."""
    console.start(level)
    return console.play(actions)[0]


def prove_all(acts: list[Act], console: Console) -> Iterator[tuple[str, Status]]:
    """Plan every act, replay the plan in the emulator, and write the proofs."""
    simulator = Simulator(acts)
    for act in acts:
        level = name_of(act)
        actions = plan(simulator, act)
        status = replay(console, level, actions)
        if not status.finished:
            raise UserError(f"{level}: the plan fails in replay: rebuild the ROM and the states")
        write_proof(level, actions, status)
        yield level, status


def write_proof(level: str, actions: list[int], status: Status, *, folder: Path = PROOFS) -> Path:
    """Write a proof as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{level}.json"
    proof = {"level": level, "frames": status.frame, "actions": encode(actions)}
    path.write_text(json.dumps(proof, indent=1) + "\n")
    return path


def read_proof(level: str, *, folder: Path = PROOFS) -> list[int]:
    """The actions of a committed proof."""
    return decode(json.loads((folder / f"{level}.json").read_text())["actions"])
