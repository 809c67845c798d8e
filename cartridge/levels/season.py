"""The leaderboard's seasons: acts of a seed that is drawn, and the oracle's runs on them."""

import datetime
import gzip
import hashlib
import secrets
from array import array
from pathlib import Path
from random import Random

import msgspec
import numpy as np

from cartridge.levels import fresh, oracle, pack
from cartridge.levels.console import Status
from cartridge.levels.generator import make_act
from cartridge.levels.library import Library
from cartridge.levels.robust import Builder, follower
from cartridge.levels.simulator import Simulator
from cartridge.levels.zones import ZONES, name_of
from retro_agents.contest.leaderboard.entry import read_entry
from retro_agents.contest.leaderboard.play import Played
from retro_agents.contest.leaderboard.season import ACTS, FILE, SEEDS, Facts, Season, folders
from retro_agents.contest.leaderboard.tape import Taped
from retro_agents.games.retro.config import SEVEN
from retro_agents.games.retro.emulator import BUTTON_NAMES
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import new_folder, write_text

PRACTICE = 100
"""Episodes of the oracle's practice on an act."""


def open_season(board: Path, *, acts: int) -> Path:
    """Make the next season. Returns its folder. Raises UserError if it cannot be made."""
    if acts > len(ZONES):
        raise UserError(f"--acts {acts}: expected {len(ZONES)} or fewer, one of each zone")
    seed = 1 + secrets.randbelow(2**31 - 1)
    random = Random(seed)
    zones = sorted(random.sample(range(len(ZONES)), acts))
    places = [(zone, random.randint(1, ZONES[zone].acts)) for zone in zones]
    made = [fresh.finishable_act(zone, number, seed)[0] for zone, number in places]
    packed = gzip.compress(pack.pack(made, art=False), mtime=0)
    there = map(read_entry, (p.parent for p in sorted(board.glob("entries/*/entry.json"))))
    facts = Facts(
        opened=datetime.datetime.now(datetime.UTC).date().isoformat(),
        seed=seed,
        acts={name_of(act): act.layout for act in made},
        pack=hashlib.sha256(packed).hexdigest(),
        entries={one.name: one.sha256 for one in there},
    )
    folder = board / "seasons" / str(max(folders(board), default=0) + 1)
    new_folder(folder)
    (folder / ACTS).write_bytes(packed)
    text = msgspec.json.format(msgspec.json.encode(facts), indent=1).decode()
    write_text(folder / FILE, text + "\n")
    return folder


def oracle_runs(season: Season, steps: int) -> dict[tuple[str, int], Played]:
    """The runs of the robust oracle on a season's acts, for the leaderboard's reference row. steps:
    of each run. What it takes is not measured."""
    places = {
        f"{zone.name}.Act{n + 1}": (z, n + 1)
        for z, zone in enumerate(ZONES)
        for n in range(zone.acts)
    }
    found: dict[tuple[str, int], Played] = {}
    for name, layout in season.facts.acts.items():
        act = make_act(*places[name], season.facts.seed, layout=layout)
        simulator = Simulator([act])
        builder = Builder(simulator, act, Random(f"{name}.practice"))
        library = builder.build(oracle.plan(simulator, act), episodes=PRACTICE)
        for seed in range(SEEDS):
            found[name, seed] = Played(oracle_run(season, name, library, steps, seed), 0.0, 0.0, 0)
    return found


def oracle_run(season: Season, act: str, library: Library, steps: int, seed: int) -> array:
    """One run: the buttons of every step."""
    env, over, player = Taped(season, act), True, follower(library)
    games = env.native.rows.games
    buttons = [np.array([name in held.split() for name in BUTTON_NAMES]) for held in SEVEN]
    sticky = season.sticky_seed(act, seed)
    while len(env.masks) < steps:
        if over:
            env.reset(seed=None if env.masks else sticky)
            player = follower(library)
        status = Status.of(games.variables(0))
        *_, terminated, truncated, _ = env.step(buttons[player(status)])
        over = terminated or truncated
    return env.masks
