"""A game with hand-made acts, one for each mechanic, compiled with the real engine."""

import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from cartridge import build_states
from cartridge.levels.cells import Spawn, SpawnKind
from cartridge.levels.paint import metatile_shapes

CARTRIDGE = Path(build_states.__file__).parent
COMPILER = shutil.which("m68k-linux-gnu-gcc")
GAME = "BrambleTest-Genesis-v0"
METATILES = [int(shape) for shape in metatile_shapes()]
"""The shape of every metatile."""
ROWS, FLOOR = 32, 20
"""Metatiles of a column, and the row where the ground begins."""
GROUND = FLOOR * 16
START, END = 200, 5000
Info = dict[str, int]


@dataclass
class TestAct:
    """Level ground, with holes and boxes, and objects."""

    __test__ = False

    name: str
    spawns: list[Spawn] = field(default_factory=list)
    holes: tuple[tuple[int, int], ...] = ()
    """First column and width."""
    boxes: tuple[tuple[int, int, int, int, int], ...] = ()
    """Column, row, width, height, shape."""
    width: int = 340
    water_y: int = 0xFFFF

    def put(self, kind, x, *args, y=GROUND):
        """Add an object; its kind in small letters."""
        self.spawns.append(Spawn(x, y, SpawnKind[kind.upper()], *args))
        return self

    def cells(self):
        """The map, column by column."""
        columns = [[0] * FLOOR + [1] * (ROWS - FLOOR) for _ in range(self.width)]
        for first, width in self.holes:
            columns[first : first + width] = [[0] * ROWS for _ in range(width)]
        for column, row, width, height, shape in self.boxes:
            for cells in columns[column : column + width]:
                cells[row : row + height] = [shape] * height
        return [METATILES.index(shape) for column in columns for shape in column]

    def source(self):
        """C of the map and the spawns."""
        spawns = "".join(
            f"{{{s.kind:d}, {s.arg}, {s.x}, {s.y}, {s.arg2 & 255}, {s.arg3}}},\n"
            for s in [*sorted(self.spawns), Spawn(END, GROUND, SpawnKind.END_POST)]
        )
        cells = ",".join(map(str, self.cells()))
        return (
            f"static const u8 {self.name}_map[] = {{{cells}}};\n"
            f"static const Spawn {self.name}_spawns[] = {{\n{spawns}}};\n"
        )

    def row(self):
        """Its line in the table of acts."""
        return (
            f"{{0, 1, {self.width}, {ROWS}, {self.name}_map, {self.name}_spawns, "
            f"{len(self.spawns) + 1}, {START}, {GROUND}, {END}, {self.water_y}}},\n"
        )


def build(acts, folder):
    """Compile the engine with these acts; the game lies in folder / GAME afterwards."""
    generated, game = folder / "generated", folder / GAME
    generated.mkdir(parents=True)
    shutil.copytree(build_states.FOLDER, game, ignore=shutil.ignore_patterns("*.state", "rom.*"))
    for name in ("zones.c", "shapes.c", "sprites.c", "title.c"):
        shutil.copy(CARTRIDGE / "src" / "generated" / name, generated)
    include = '#include "../level.h"\n'
    table = "".join(act.row() for act in acts)
    (generated / "acts.c").write_text(
        include
        + "".join(act.source() for act in acts)
        + f"const Act acts[] = {{\n{table}}};\nconst u8 act_count = {len(acts)};\n"
    )
    paths = {"BUILD": folder / "build", "GENERATED": generated, "ROM": game / "rom.md"}
    arguments = [f"{name}={path}" for name, path in paths.items()]
    subprocess.run(
        ["make", "-s", "-j2", "-C", str(CARTRIDGE), *arguments], check=True, capture_output=True
    )


def boot(folder):
    """The game at its title."""
    return build_states.boot(GAME, integration=folder)
