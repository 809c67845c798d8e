"""The oracle: finishes every act by search with save and restore, and writes down how.

Best-first over short scripts of contest actions (four frames each, without stickiness). A state
is kept once per cell of place and speed; the one furthest to the right goes on. What it finds is
committed in proofs/ and replayed in a test: the proof that every act can be finished."""

import heapq
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cartridge.levels.console import Console, Status
from cartridge.levels.splits import level_names
from experiment.errors import UserError

PROOFS = Path(__file__).parent / "proofs"
LEFT, RIGHT, ROLL, DOWN, DASH, JUMP = 0, 1, 3, 4, 5, 6
LETTERS = "LRlrdDJ"
"""How actions are written in a proof: left, right, with down small, dash, jump."""
HOLDS, FLIGHTS = (1, 2, 4), (3, 9)
SCRIPTS: tuple[tuple[int, ...], ...] = (
    *((JUMP,) * hold + (RIGHT,) * flight for flight in FLIGHTS for hold in HOLDS),
    (RIGHT,) * 4,
    (RIGHT,) * 12,
    (ROLL,) * 6,
    (LEFT,) * 4,
    (LEFT,) * 12,
    (DOWN,) * 4,
    (DOWN, DOWN, DASH, DASH, RIGHT, ROLL, ROLL),
)


@dataclass(frozen=True)
class Node:
    """A place in the search: how it was reached, and the machine's state there."""

    status: Status
    state: bytes
    script: tuple[int, ...]
    parent: "Node | None"


def plan(console: Console, level: str, *, budget: int = 6000) -> list[int]:
    """Actions that finish a level. Raises UserError when budget expansions do not suffice."""
    order = itertools.count()
    root = Node(console.start(level), console.save(), (), None)
    queue = [(0.0, next(order), root)]
    seen: set[tuple[int, ...]] = set()
    best = root
    for _ in range(budget):
        if not queue:
            break
        _, _, node = heapq.heappop(queue)
        for script in SCRIPTS:
            child = _try(console, node, script)
            if child.status.finished:
                return actions_to(child)
            if child.status.lost or _cell(child.status) in seen:
                continue
            seen.add(_cell(child.status))
            heapq.heappush(queue, (_cost(child.status), next(order), child))
            if child.status.x > best.status.x:
                best = child
    raise UserError(f"{level}: the oracle is stuck at x = {best.status.x}; change the act")


def _try(console: Console, node: Node, script: tuple[int, ...]) -> Node:
    """Play a script from a node; it is cut short where the episode ends."""
    console.restore(node.state)
    status, done = node.status, 0
    for action in script:
        status = console.act(action)
        done += 1
        if status.over:
            break
    return Node(status, console.save(), script[:done], node)


def _cost(status: Status) -> float:
    """Lower goes on first: far to the right, soon, and fast."""
    return -status.x - 0.05 * status.speed_x + 0.5 * status.frame


def _cell(status: Status) -> tuple[int, ...]:
    return (status.x // 12, status.y // 24, status.speed_x // 384, status.speed_y // 512)


def actions_to(node: Node) -> list[int]:
    """All actions from the start to a node."""
    scripts: list[tuple[int, ...]] = []
    at: Node | None = node
    while at is not None:
        scripts.append(at.script)
        at = at.parent
    return [action for script in reversed(scripts) for action in script]


def encode(actions: list[int]) -> str:
    """'R12 J3 R9': runs of equal actions."""
    runs = [(action, len(list(group))) for action, group in itertools.groupby(actions)]
    return " ".join(f"{LETTERS[action]}{count}" for action, count in runs)


def decode(text: str) -> list[int]:
    """The actions of an encoded proof."""
    return [LETTERS.index(run[0]) for run in text.split() for _ in range(int(run[1:]))]


def replay(console: Console, level: str, actions: list[int]) -> Status:
    """Play actions from a level's start, until the episode ends."""
    status = console.start(level)
    for action in actions:
        status = console.act(action)
        if status.over:
            break
    return status


def prove_all(console: Console) -> Iterator[tuple[str, Status]]:
    """Plan every level, replay the plan, and write the proofs."""
    for level in level_names():
        actions = plan(console, level)
        status = replay(console, level, actions)
        if not status.finished:
            raise UserError(f"{level}: the plan does not replay; are save and restore exact?")
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
