"""An act before it is painted: cells of 16x16 pixels, spawns, and the act itself."""

from dataclasses import dataclass
from enum import IntEnum

CELL = 16
"""Pixels to a side of a cell (a metatile on the console)."""
HEIGHT = 32
"""Rows of every act."""
DRY = 0xFFFF
"""The water's surface in an act without water."""


class Cell(IntEnum):
    """The meaning of a cell. The first ten equal the collision shapes of src/level.h."""

    EMPTY = 0
    GROUND = 1
    PLATFORM = 2
    SPIKE = 3
    UP45 = 4
    DOWN45 = 5
    UP22_LOW = 6
    UP22_HIGH = 7
    DOWN22_HIGH = 8
    DOWN22_LOW = 9
    BLOCK = 10


SLOPES = frozenset(Cell(i) for i in range(Cell.UP45, Cell.DOWN22_LOW + 1))


def shape_of(cell: Cell) -> Cell:
    """The cell with the same collision shape that has the shape's number."""
    return Cell.GROUND if cell is Cell.BLOCK else cell


def surface_height(cell: Cell, x: int) -> int:
    """Filled pixels from a cell's bottom at column x in 0..15."""
    heights = {
        Cell.EMPTY: 0,
        Cell.UP45: x + 1,
        Cell.DOWN45: 16 - x,
        Cell.UP22_LOW: x // 2 + 1,
        Cell.UP22_HIGH: 8 + x // 2 + 1,
        Cell.DOWN22_HIGH: 16 - x // 2,
        Cell.DOWN22_LOW: 8 - x // 2,
    }
    return heights.get(cell, CELL)


class SpawnKind(IntEnum):
    """Kinds of objects, numbered as in src/level.h."""

    WALKER = 1
    SPRING_UP = 2
    RING = 3
    HOPPER = 4
    END_POST = 5
    SPRING_FORWARD = 6
    SPRING_BACK = 7
    PLATFORM_X = 8
    PLATFORM_Y = 9
    PLATFORM_CRUMBLE = 10
    PISTON = 11
    BREAKABLE = 12
    SWITCH = 13
    GATE = 14
    CHECKPOINT = 15
    SHOOTER = 16
    JUMPER = 17
    BOOSTER = 18
    LOOP = 19
    WIND = 20


@dataclass(frozen=True, order=True)
class Spawn:
    """An object at the start of an act. x, y: its feet, pixels from the act's top left.

    What the arguments mean depends on the kind: see src/level.h."""

    x: int
    y: int
    kind: SpawnKind
    arg: int = 0
    arg2: int = 0
    arg3: int = 0


@dataclass(frozen=True)
class Act:
    """One act. columns: [width][HEIGHT] cells, top to bottom. Positions in pixels."""

    zone: int
    number: int
    columns: tuple[tuple[Cell, ...], ...]
    spawns: tuple[Spawn, ...]
    start: tuple[int, int]
    end_x: int
    chunks: tuple[tuple[str, int], ...]
    """The chunks it was built from: name and first column."""
    water_y: int = DRY
    """Pixel row of the water's surface; DRY: no water."""
    seed: int = 0
    layout: int = 0
    """The cartridge's seed, and the number of this act's layout."""

    @property
    def width(self) -> int:
        return len(self.columns)
