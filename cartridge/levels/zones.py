"""The zones: look and mixture of obstacles. A new zone is one more entry of ZONES."""

from dataclasses import dataclass

from cartridge.levels.colours import colours


@dataclass(frozen=True)
class Zone:
    """A zone. Colours are three octal digits, red green blue, as the console has them."""

    name: str
    acts: int
    held_out: int
    """Number of the act that is kept for testing."""
    hard: float
    """How hard the first chunk of act 1 is, 0..1."""
    opening: tuple[tuple[str, ...], ...]
    """The first chunks of an act; each entry's names take turns over the acts."""
    easy: dict[str, float]
    """Weights of the chunks that may come anywhere behind the opening."""
    late: dict[str, float]
    """Weights of those that come only after a third of the act."""
    roof: int
    """Rows between the ground and a roof of rock; 0: open sky. A jump needs 8."""
    ground: tuple[str, ...]
    """15 colours of the level tiles; their roles are named in art/ground.py."""
    back: tuple[str, ...]
    """15 colours of the background."""
    texture: str
    """Name of the ground's pattern, in art/ground.py."""
    scenery: str
    """Name of the background, in art/scenery.py, and of the ornaments, in art/decor.py."""


BRAMBLE_WOOD = Zone(
    name="BrambleWood",
    acts=4,
    held_out=3,
    hard=0.0,
    opening=(
        ("crack",),
        ("hill22", "valley22", "hill22", "ascent"),
        ("crack",),
        ("pit", "walkers", "spikes", "pit"),
        ("wall", "pit", "walkers", "spikes"),
    ),
    easy={
        "rings": 1,
        "islands": 0.6,
        "crack": 1,
        "hill22": 2,
        "valley22": 1,
        "hill45": 1,
        "ascent": 2,
        "descent": 2,
        "stairs_up": 1,
        "stairs_down": 1,
        "wall": 2,
        "trench": 1,
        "pit": 2,
        "walkers": 2,
    },
    late={"spikes": 2, "platforms": 1.5, "spring_wall": 1.5, "ramp_pit": 1, "tunnel": 1},
    roof=0,
    ground=tuple(colours("100 210 320 431 542 120 240 351 473 431 653 777 556 735 764")),
    back=tuple(colours("357 467 577 677 456 355 566 466 364 475 263 374 253 666 777")),
    texture="soil",
    scenery="wood",
)

RUST_CAVERN = Zone(
    name="RustCavern",
    acts=4,
    held_out=2,
    hard=0.1,
    opening=(
        ("crack",),
        ("valley22", "hill22", "valley45", "descent"),
        ("crack",),
        ("spikes", "pit", "walkers", "pit"),
        ("pit", "trench", "spikes", "walkers"),
    ),
    easy={
        "rings": 1,
        "islands": 0.6,
        "crack": 1,
        "valley22": 1,
        "valley45": 2,
        "hill45": 2,
        "descent": 2,
        "ascent": 1,
        "stairs_up": 2,
        "trench": 2,
        "wall": 1,
        "spikes": 2,
        "tunnel": 2,
        "walkers": 1,
    },
    late={"spike_trench": 1.5, "pillars": 2, "high_road": 1, "spring_wall": 2, "hoppers": 1},
    roof=10,
    ground=tuple(colours("100 201 312 423 534 410 520 631 743 223 445 777 556 257 467")),
    back=tuple(colours("101 102 112 213 100 201 311 411 212 323 001 520 630 223 334")),
    texture="rock",
    scenery="cavern",
)

SNOW_RIDGE = Zone(
    name="SnowRidge",
    acts=4,
    held_out=4,
    hard=0.15,
    opening=(
        ("crack",),
        ("ascent", "hill22", "valley22", "hill22"),
        ("crack",),
        ("pit", "spikes", "pit", "walkers"),
        ("stairs_up", "pit", "hoppers", "pit"),
    ),
    easy={
        "rings": 1,
        "islands": 0.6,
        "crack": 1,
        "hill45": 2,
        "valley45": 2,
        "ascent": 2,
        "descent": 2,
        "stairs_up": 1,
        "stairs_down": 1,
        "wall": 1,
        "pit": 2,
        "ramp_pit": 2,
        "hoppers": 1,
        "walkers": 1,
    },
    late={"platforms": 2, "pillars": 1, "spikes": 2, "spring_pit": 1, "spring_wall": 1.5},
    roof=0,
    ground=tuple(colours("012 123 234 345 456 357 567 677 777 322 543 777 467 614 742")),
    back=tuple(colours("256 367 477 577 677 777 245 134 356 467 023 124 235 666 777")),
    texture="ice",
    scenery="snow",
)

ZONES = (BRAMBLE_WOOD, RUST_CAVERN, SNOW_RIDGE)
