"""The leaderboard's seasons: acts of a seed that is drawn, and the oracle that plays them."""

import datetime
import gzip
import hashlib
import secrets
import shlex
from pathlib import Path
from random import Random

import msgspec

from cartridge.levels import fresh, pack
from cartridge.levels.console import Status
from cartridge.levels.generator import make_act
from cartridge.levels.oracle import plan
from cartridge.levels.robust import Builder, follower
from cartridge.levels.simulator import Simulator
from cartridge.levels.splits import level_names
from cartridge.levels.zones import PLACES, ZONES, name_of
from retro_agents.contest.leaderboard.faults import Faults, entries_of
from retro_agents.contest.leaderboard.references import Player
from retro_agents.contest.leaderboard.season import ACTS, FILE, Facts, Season, folders
from retro_agents.contest.leaderboard.tape import Taped
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import drafted_folder, make_folder, write_text

PRACTICE = 100
"""Episodes of the oracle's practice on an act."""


def open_season(board: Path, *, acts: int, faults: Faults) -> Path:
    """Make the next season, which its owner alone can read. Returns its folder. Raises UserError if
    it cannot be made. faults: takes those of entries, which are none of its."""
    if acts > len(ZONES):
        raise UserError(f"--acts {acts}: expected {len(ZONES)} or fewer, one of each zone")
    if not board.is_dir():
        raise UserError(
            f"there is no folder {board}: run where leaderboard/ is, or give --board; "
            f"`mkdir -p {shlex.quote(str(board))}/entries` begins a new one"
        )
    seed = 1 + secrets.randbelow(2**31 - 1)
    random = Random(seed)
    zones = sorted(random.sample(range(len(ZONES)), acts))
    places = [(zone, random.randint(1, ZONES[zone].acts)) for zone in zones]
    made = [fresh.finishable_act(zone, number, seed)[0] for zone, number in places]
    packed = gzip.compress(pack.pack(made, art=False), mtime=0)
    there = faults.entries(entries_of(board), board)
    facts = Facts(
        opened=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        seed=seed,
        acts={name_of(act): act.layout for act in made},
        pack=hashlib.sha256(packed).hexdigest(),
        secret=secrets.token_hex(16),
        entries={one.name: one.sha256 for one in there},
    )
    folder = board / "seasons" / str(max(folders(board), default=0) + 1)
    text = msgspec.json.format(msgspec.json.encode(facts), indent=1).decode()
    make_folder(folder.parent)
    with drafted_folder(folder) as draft:  # a season is there as a whole, or not at all
        draft.chmod(0o700)
        (draft / ACTS).write_bytes(packed)
        write_text(draft / FILE, text + "\n")
        for path in draft.iterdir():
            path.chmod(0o600)
    return folder


def oracle(season: Season, act: str) -> Player:
    """The robust oracle of an act, for the leaderboard's reference row."""
    place = PLACES[level_names().index(act)]
    made = make_act(*place, season.facts.seed, layout=season.facts.acts[act])
    simulator = Simulator([made])
    builder = Builder(simulator, made, Random(f"{act}.practice"))
    library = builder.build(plan(simulator, made), episodes=PRACTICE)
    follow = follower(library)

    def player(env: Taped, begins: bool) -> int:
        nonlocal follow
        if begins:
            follow = follower(library)
        return follow(Status.of(env.native.rows.games.variables(0)))

    return player
