"""The look of each zone: colours and patterns. Its obstacles are in zones.py."""

from dataclasses import dataclass

from cartridge.levels.colours import colours
from retro_agents.ground.errors import UserError


@dataclass(frozen=True)
class Look:
    """A zone's look. Colours are three octal digits, red green blue, as on the console."""

    ground: tuple[str, ...]
    """15 colours of the level tiles; their roles are named in art/ground.py."""
    back: tuple[str, ...]
    """15 colours of the background; their roles are named in art/scenery.py."""
    texture: str
    """Name of the ground's pattern, in art/patterns.py."""
    cover: str
    """Name of the ground's cover, in art/covers.py."""
    block: str
    """Name of the built blocks, in art/parts.py."""
    platform: str
    """Name of the floating platforms, in art/parts.py."""
    spike: str
    """Name of the spikes, in art/parts.py."""
    scenery: str
    """Name of the background, in art/scenes.py, and of the ornaments, in art/decor.py."""


LOOKS = {
    "BrambleWood": Look(
        ground=colours("100 210 320 431 542 120 240 351 473 431 653 777 556 735 764"),
        back=colours("357 467 577 677 456 355 566 466 364 475 263 374 253 666 777"),
        texture="soil",
        cover="grass",
        block="brick",
        platform="planks",
        spike="thorns",
        scenery="wood",
    ),
    "RustCavern": Look(
        ground=colours("100 201 313 424 635 410 520 631 743 223 445 777 556 257 467"),
        back=colours("101 102 112 213 100 201 311 411 212 323 001 520 630 223 334"),
        texture="rock",
        cover="crust",
        block="brick",
        platform="girder",
        spike="thorns",
        scenery="cavern",
    ),
    "SnowRidge": Look(
        ground=colours("012 123 234 345 456 357 567 677 777 322 543 777 467 614 742"),
        back=colours("256 367 477 577 677 777 245 134 356 467 023 124 235 666 777"),
        texture="ice",
        cover="snow",
        block="ice",
        platform="planks",
        spike="icicles",
        scenery="snow",
    ),
    "TideGrotto": Look(
        ground=colours("001 012 023 134 246 321 532 643 765 310 521 777 556 036 367"),
        back=colours("367 477 577 677 456 566 356 577 145 367 134 245 763 667 777"),
        texture="slate",
        cover="sand",
        block="stone",
        platform="planks",
        spike="shells",
        scenery="grotto",
    ),
    "GaleCliffs": Look(
        ground=colours("100 310 421 531 642 230 340 451 663 321 542 777 556 723 750"),
        back=colours("456 557 667 767 546 657 556 667 465 576 644 766 733 667 777"),
        texture="strata",
        cover="windgrass",
        block="stone",
        platform="planks",
        spike="thorns",
        scenery="cliffs",
    ),
    "EmberFoundry": Look(
        ground=colours("001 222 334 445 556 111 530 750 773 320 531 777 556 720 760"),
        back=colours("100 200 300 410 101 211 211 321 001 111 510 720 750 211 322"),
        texture="plates",
        cover="hazard",
        block="steel",
        platform="girder",
        spike="blades",
        scenery="foundry",
    ),
    "SpiralMeadow": Look(
        ground=colours("101 202 313 424 536 031 152 363 575 312 534 777 556 716 760"),
        back=colours("557 667 766 776 657 767 566 676 465 576 634 746 772 767 777"),
        texture="spirals",
        cover="lawn",
        block="stone",
        platform="planks",
        spike="thorns",
        scenery="meadow",
    ),
    "ClockTower": Look(
        ground=colours("100 421 532 643 754 223 334 556 677 320 541 777 567 155 377"),
        back=colours("010 011 021 122 022 133 021 132 010 121 211 321 530 233 344"),
        texture="gears",
        cover="rail",
        block="steel",
        platform="girder",
        spike="blades",
        scenery="clockwork",
    ),
    "SpringOrchard": Look(
        ground=colours("100 201 311 422 532 400 610 730 752 210 431 777 556 720 750"),
        back=colours("666 765 764 763 655 765 643 754 632 742 531 642 711 776 777"),
        texture="roots",
        cover="leaves",
        block="crate",
        platform="planks",
        spike="thorns",
        scenery="orchard",
    ),
    "ThornKeep": Look(
        ground=colours("001 001 112 223 334 020 131 242 463 301 522 777 556 611 740"),
        back=colours("545 655 756 766 655 666 645 755 534 645 545 656 762 766 777"),
        texture="bricks",
        cover="briars",
        block="brick",
        platform="slab",
        spike="blades",
        scenery="keep",
    ),
    "SkyIsles": Look(
        ground=colours("113 434 545 656 666 230 451 562 673 530 751 777 557 724 763"),
        back=colours("013 024 125 236 136 246 125 236 025 236 143 255 763 346 457"),
        texture="marble",
        cover="lawn",
        block="marble",
        platform="cloud",
        spike="thorns",
        scenery="isles",
    ),
    "CrystalMine": Look(
        ground=colours("001 023 134 245 367 034 155 266 577 213 436 777 567 515 757"),
        back=colours("000 001 011 012 112 123 011 022 001 112 214 426 537 023 045"),
        texture="facets",
        cover="crystals",
        block="crate",
        platform="girder",
        spike="icicles",
        scenery="mine",
    ),
    "MirageDunes": Look(
        ground=colours("200 310 421 531 642 431 643 754 775 310 532 777 667 041 163"),
        back=colours("367 577 677 777 667 777 556 667 446 556 667 777 730 776 777"),
        texture="sandstone",
        cover="sand",
        block="stone",
        platform="slab",
        spike="thorns",
        scenery="dunes",
    ),
    "StormHarbor": Look(
        ground=colours("001 321 432 543 654 222 334 556 777 310 521 777 556 025 247"),
        back=colours("001 002 112 122 111 122 012 123 001 112 000 233 763 112 223"),
        texture="timber",
        cover="curb",
        block="crate",
        platform="planks",
        spike="blades",
        scenery="harbor",
    ),
}
"""The zones by name, in no particular order: zones.py orders them."""


def look(zone: str) -> Look:
    """The look of a zone, by its name. Raises UserError if it has none."""
    if zone not in LOOKS:
        raise UserError(f"zone {zone!r} has no look: add an entry to LOOKS in levels/looks.py")
    return LOOKS[zone]
