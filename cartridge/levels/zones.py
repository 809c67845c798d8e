"""The zones: their mix of obstacles, and the held-out acts. Their look is in looks.py.

A new zone is one more entry of ZONES and one of looks.LOOKS."""

from dataclasses import dataclass

from cartridge.levels.cells import Act

NO_WATER = 32


@dataclass(frozen=True)
class Zone:
    """A zone: its acts consist of these chunks (names in chunks.PIECES) and LAND."""

    name: str
    acts: int
    held_out: tuple[int, ...]
    """Numbers of the held-out acts."""
    hard: float
    """Hardness of the first chunk of act 1, 0..1."""
    opening: tuple[str, ...]
    """The beginning of an act: one of each entry's names, in any order."""
    easy: dict[str, float]
    """Weights of the chunks that may occur anywhere after the opening, besides LAND."""
    late: dict[str, float]
    """Weights of the chunks that occur only after a third of the act."""
    special: dict[str, float]
    """Weights of the obstacles that need going left, waiting or speed; every act has a few."""
    roof: int = 0
    """Rows between the ground and a roof of rock; 0: open sky. A jump needs 8."""
    water_row: int = NO_WATER
    """The first row of the water, give or take two."""


LAND = {"rings": 0.8, "islands": 0.6, "crack": 0.5, "hill22": 0.8, "valley22": 0.8}
"""Chunks of every zone."""


def _mix(names: str) -> dict[str, float]:
    """Parses chunks and their weights, written 'wall pit*2'; the default weight is 1."""
    pairs = (name.partition("*") for name in names.split())
    return {name: float(weight or 1) for name, _, weight in pairs}


ZONES = (
    Zone(
        name="BrambleWood",
        acts=5,
        held_out=(3,),
        hard=0.0,
        opening=(
            "crack",
            "hill22 valley22 hill22 ascent",
            "crack",
            "pit walkers spikes pit",
            "wall pit walkers spikes",
        ),
        easy=_mix("hill45 stairs_up stairs_down trench ascent descent wall*2 pit*2 walkers*2"),
        late=_mix("ramp_pit tunnel two_roads spikes*2 platforms*1.5 spring_wall*1.5"),
        special=_mix("breakable_wall switch_shelf zigzag lift"),
    ),
    Zone(
        name="RustCavern",
        acts=5,
        held_out=(2,),
        hard=0.1,
        opening=(
            "crack",
            "valley22 hill22 valley45 descent",
            "crack",
            "spikes pit walkers pit",
            "pit trench spikes walkers",
        ),
        easy=_mix(
            "ascent wall walkers valley45*2 hill45*2 descent stairs_up*2 trench*2 spikes*2 tunnel*2"
        ),
        late=_mix("high_road hoppers shooters spike_trench*1.5 pillars*2 spring_wall*2"),
        special=_mix("piston_hall breakable_tunnel*2 switch_cave*2"),
        roof=10,
    ),
    Zone(
        name="SnowRidge",
        acts=5,
        held_out=(4,),
        hard=0.15,
        opening=(
            "crack",
            "ascent hill22 valley22 hill22",
            "crack",
            "pit spikes pit walkers",
            "stairs_up pit hoppers pit",
        ),
        easy=_mix(
            "stairs_up stairs_down wall hoppers walkers hill45*3 valley45*3 ascent descent "
            "pit*2 ramp_pit*2"
        ),
        late=_mix("pillars spring_pit spring_wall platforms*2 spikes*2 booster_hill*1.5"),
        special=_mix("zigzag loop_slope steep_climb*2 halfpipe*2"),
    ),
    Zone(
        name="TideGrotto",
        acts=5,
        held_out=(5,),
        hard=0.1,
        opening=(
            "crack",
            "hill22 descent valley22",
            "crack",
            "spikes walkers pit",
            "wall spikes hoppers",
        ),
        easy=_mix(
            "stairs_down wall walkers hoppers ascent descent stairs_up*2 trench*2 pit*2 spikes*2"
        ),
        late=_mix("platforms high_road stepping_ferries spring_wall pillars*2 spike_trench*2"),
        special=_mix("ferry piston_hall switch_cave*2"),
        roof=12,
        water_row=21,
    ),
    Zone(
        name="GaleCliffs",
        acts=5,
        held_out=(),
        hard=0.1,
        opening=("crack", "hill22 ascent", "wind_pit", "wall spikes walkers", "wind_pit pit"),
        easy=_mix("stairs_down wall walkers wind_pit*6 wind_stairs*4 ascent descent pit*2"),
        late=_mix("pillars spring_wall ramp_pit jumpers platforms*2 spikes*2"),
        special=_mix("spring_shelf zigzag ferry lift*2"),
    ),
    Zone(
        name="EmberFoundry",
        acts=5,
        held_out=(3,),
        hard=0.15,
        opening=("crack", "valley22 hill22", "crack", "pistons", "pit spikes crumble_bridge"),
        easy=_mix(
            "trench spikes walkers ascent descent pistons*5 stairs_up*2 stairs_down*2 wall*2 "
            "crumble_bridge*4"
        ),
        late=_mix("pillars high_road tunnel shooters spring_wall spike_trench*2"),
        special=_mix("ferry switch_cave piston_hall*3"),
        roof=11,
    ),
    Zone(
        name="SpiralMeadow",
        acts=5,
        held_out=(2,),
        hard=0.1,
        opening=(
            "crack",
            "hill22 valley22",
            "loop_booster loop_spring",
            "pit spikes walkers",
            "wall pit hoppers",
        ),
        easy=_mix(
            "hill45 pit wall walkers valley45*2 descent ascent loop_booster*4 loop_spring*4 "
            "booster_hill*3"
        ),
        late=_mix("spring_road spring_wall booster_pit*3 spikes two_roads*2"),
        special=_mix("breakable_wall spring_shelf loop*3 loop_slope*2"),
    ),
    Zone(
        name="ClockTower",
        acts=4,
        held_out=(4,),
        hard=0.15,
        opening=(
            "crack",
            "hill22 stairs_up",
            "crack",
            "wall pit",
            "stepping_ferries spikes pistons",
        ),
        easy=_mix("trench pistons pit walkers stepping_ferries*5 stairs_up*2 stairs_down*2 wall*2"),
        late=_mix("platforms pillars hoppers guarded_wall throw_cave spikes*2 spring_wall*2"),
        special=_mix("ferry switch_shelf*2 switch_cave*2 lift*2"),
    ),
    Zone(
        name="SpringOrchard",
        acts=4,
        held_out=(),
        hard=0.1,
        opening=("crack", "hill22 ascent", "spring_pit", "pit walkers", "bounce_wall spring_road"),
        easy=_mix(
            "ascent stairs_down walkers wall spring_pit*4 spring_road*4 bounce_wall*3 "
            "spring_wall*4 descent*2"
        ),
        late=_mix("platforms two_roads jumpers pit throw_cave spikes*2"),
        special=_mix("loop switch_shelf spring_shelf*2 spring_cave*2"),
    ),
    Zone(
        name="ThornKeep",
        acts=4,
        held_out=(),
        hard=0.2,
        opening=("crack", "stairs_up hill22", "crack", "shooters jumpers", "spikes guarded_wall"),
        easy=_mix(
            "stairs_up stairs_down wall walkers trench shooters*4 jumpers*3 guarded_wall*4 spikes*3"
        ),
        late=_mix("high_road pillars tunnel spring_wall crumble_bridge spike_trench*2"),
        special=_mix("breakable_wall switch_cave piston_hall zigzag"),
    ),
    Zone(
        name="SkyIsles",
        acts=4,
        held_out=(2,),
        hard=0.1,
        opening=("crack", "islands", "platforms", "pit", "pillars stepping_ferries"),
        easy=_mix("ascent descent platforms*4 pillars*2 two_roads*3 pit*2 stepping_ferries*4"),
        late=_mix("ramp_pit spring_pit jumpers walkers spring_wall crumble_bridge*4"),
        special=_mix("lift zigzag ferry*3"),
    ),
    Zone(
        name="CrystalMine",
        acts=4,
        held_out=(),
        hard=0.15,
        opening=("crack", "valley45 descent", "crack", "tunnel spikes", "wall pit"),
        easy=_mix("hill45 wall spikes walkers pit tunnel*4 valley45*2 trench*2 descent ascent"),
        late=_mix("spike_trench pillars hoppers jumpers crumble_bridge throw_cave spring_wall*2"),
        special=_mix("halfpipe breakable_tunnel*3 switch_cave*2"),
        roof=10,
    ),
    Zone(
        name="MirageDunes",
        acts=2,
        held_out=(1, 2),
        hard=0.2,
        opening=("crack", "valley22 hill22", "crack", "spikes pit", "jumpers wall"),
        easy=_mix(
            "hill45 valley45 jumpers shooters bounce_wall wind_pit ascent descent wall*2 pit*2"
        ),
        late=_mix("crumble_bridge two_roads booster_pit loop_booster spring_wall spikes*2"),
        special=_mix("zigzag switch_shelf loop steep_climb ferry breakable_wall"),
    ),
    Zone(
        name="StormHarbor",
        acts=1,
        held_out=(1,),
        hard=0.2,
        opening=("crack", "descent", "wind_pit", "pistons", "spikes"),
        easy=_mix(
            "wall pit hoppers wind_pit*2 pistons*2 stepping_ferries*2 stairs_up*2 stairs_down*2"
        ),
        late=_mix("spike_trench shooters platforms pillars spring_wall"),
        special=_mix("piston_hall switch_cave lift ferry"),
        water_row=24,
    ),
)

PLACES = [(z, n) for z, zone in enumerate(ZONES) for n in range(1, zone.acts + 1)]
"""The zone and the number of every act, in the order of the cartridge."""
RESEEDED: dict[str, int] = {"SpringOrchard.Act4": 1}
"""The layouts of acts whose first layout could not be finished, had a fault, or left a piece out of
the cartridge. They belong to the generator's own seed."""


def name_of(act: Act) -> str:
    """The act's level, like 'BrambleWood.Act1'."""
    return f"{ZONES[act.zone].name}.Act{act.number}"
