"""The pen with which chunks draw an act: it moves to the right at the ground's height."""

from cartridge.levels.cells import CELL, HEIGHT, Cell, Spawn, SpawnKind

HIGHEST_FLOOR = 11
LOWEST_FLOOR = 27


class Terrain:
    """A growing act. floor: row of the topmost ground cell at the pen.

    water_row: the first row of the act's water, or HEIGHT; gates: the number of gates so far."""

    def __init__(self, *, floor: int, water_row: int = HEIGHT):
        self.floor = floor
        self.water_row = water_row
        self.gates = 0
        self.columns: list[list[Cell]] = []
        self.spawns: list[Spawn] = []

    @property
    def x(self) -> int:
        """The pen's column."""
        return len(self.columns)

    def wet(self) -> bool:
        """Whether a hero six rows below the pen would be in water."""
        return self.water_row < min(self.floor + 6, HEIGHT)

    def room_up(self, wanted: int) -> int:
        """The number of wanted rows by which the ground may still rise."""
        return max(0, min(wanted, self.floor - HIGHEST_FLOOR))

    def room_down(self, wanted: int) -> int:
        """The number of wanted rows by which the ground may still sink."""
        return max(0, min(wanted, LOWEST_FLOOR - self.floor))

    def ground(self, columns: int) -> None:
        """Level ground."""
        for _ in range(columns):
            self._column(self.floor)

    def gap(self, columns: int) -> None:
        """Columns without ground, where a fall costs a life."""
        for _ in range(columns):
            self.columns.append([Cell.EMPTY] * HEIGHT)

    def up45(self, rows: int) -> None:
        """A steep rise, one column per row."""
        for _ in range(rows):
            self.floor -= 1
            self._column(self.floor, Cell.UP45)

    def down45(self, rows: int) -> None:
        """A steep fall, one column per row."""
        for _ in range(rows):
            self._column(self.floor, Cell.DOWN45)
            self.floor += 1

    def up22(self, rows: int) -> None:
        """A gentle rise, two columns per row."""
        for _ in range(rows):
            self.floor -= 1
            self._column(self.floor, Cell.UP22_LOW)
            self._column(self.floor, Cell.UP22_HIGH)

    def down22(self, rows: int) -> None:
        """A gentle fall, two columns per row."""
        for _ in range(rows):
            self._column(self.floor, Cell.DOWN22_HIGH)
            self._column(self.floor, Cell.DOWN22_LOW)
            self.floor += 1

    def step(self, rows: int) -> None:
        """Raise (negative: sink) the ground at once by some rows."""
        self.floor -= rows

    def box(self, cell: Cell, column: int, row: int, *, width: int = 1, height: int = 1) -> None:
        """Fill a rectangle of columns already drawn."""
        for c in range(column, column + width):
            for r in range(row, row + height):
                self.columns[c][r] = cell

    def spawn(self, kind: SpawnKind, column: float, row: int, *args: int) -> None:
        """Add an object with its feet on the top of a row, in the middle of a column."""
        x = int(column * CELL) + CELL // 2
        self.spawns.append(Spawn(x, row * CELL, kind, *args))

    def gate(self, *, height: int, over: int) -> None:
        """Add a gate at the pen with a block of `over` rows on it."""
        x = self.x
        self.ground(1)
        self.spawn(SpawnKind.GATE, x, self.floor, self.gates, height)
        self.box(Cell.BLOCK, x, self.floor - height - over, height=over)
        self.gates += 1

    def _column(self, floor: int, top: Cell = Cell.GROUND) -> None:
        cells = [Cell.EMPTY] * floor + [top] + [Cell.GROUND] * (HEIGHT - floor - 1)
        self.columns.append(cells)
