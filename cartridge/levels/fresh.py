"""A fresh cartridge: the acts of another seed, built into a folder of its own.

It provides levels on which nothing was ever trained or tuned. If the oracle cannot finish an act,
the seed's next layout replaces it, so every act can be finished, as in the committed cartridge."""

import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from shutil import which

from cartridge import build_states
from cartridge.levels import emit, oracle, pack
from cartridge.levels.cells import Act
from cartridge.levels.check import problems
from cartridge.levels.generator import SEED, all_acts, make_act
from cartridge.levels.simulator import Simulator
from cartridge.levels.splits import level_names
from cartridge.levels.zones import PLACES, ZONES, name_of
from retro_agents.games.retro.bramble import GAME
from retro_agents.games.retro.integrations import games
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import drafted_folder, make_folder

CARTRIDGE = Path(__file__).parent.parent
COMPILER = "m68k-linux-gnu-gcc"
KEPT = ("bramble.wasm", "data.json", "scenario.json", "contest.json")
ACTS = "acts.json"
"""The file in a cartridge's folder with the seed, layouts and hash of its acts."""
LAYOUTS = 20
"""Layouts of an act to try before giving up."""


def make_all(seeds: Sequence[int], *, out: Path) -> Iterator[Path]:
    """Makes a cartridge for each seed, and a CSV of all levels, for --levels. Yields the files.
    Keeps cartridges that an earlier call made, so the same call resumes an interrupted one. Raises
    UserError as `make`; writes nothing if a seed or its folder is wrong."""
    check_seeds(seeds)
    for seed in seeds:
        if (folder := out / game_of(seed)).exists() and not (folder / ACTS).is_file():
            raise UserError(f"{folder} exists: choose another seed or folder, or remove it")
    make_folder(out)  # before the search, which takes long
    for seed in seeds:
        if not (out / game_of(seed)).exists():
            yield from make(seed, out=out)
    name = f"{seeds[0]}-{seeds[-1]}" if len(seeds) > 1 else f"{seeds[0]}"
    table = out / f"bramble-{name}.csv"
    rows = [f"{game_of(seed)},{level}\n" for seed in seeds for level in level_names()]
    table.write_text("game,state\n" + "".join(rows))
    yield table


def check_seeds(seeds: Sequence[int]) -> None:
    """Raises UserError if a seed is negative or that of the acts that agents train on."""
    for seed in seeds:
        if not 0 <= seed < 10**18 or seed == SEED:
            raise UserError(
                f"--seed {seed}: expected 0 or more, of at most 18 digits, and not {SEED}, "
                "whose acts are those that agents train on"
            )


def game_of(seed: int) -> str:
    """The name of a seed's game."""
    return f"BrambleDash{seed}-Genesis-v0"


def make(seed: int, *, out: Path) -> Iterator[Path]:
    """Build a seed's game in a folder, whole or not at all. Yields the files. Raises UserError if
    no layout works."""
    whole = out / game_of(seed)
    plans = list(finishable(seed))
    with drafted_folder(whole) as folder:
        acts = [act for act, _ in plans]
        made = [*build(acts, folder), folder / ACTS, folder / "proofs"]
        record = {"seed": seed, "layouts": [act.layout for act in acts], "sha256": hash_of(acts)}
        (folder / ACTS).write_text(json.dumps(record, indent=1) + "\n")
        for act, actions in plans:
            status = oracle.replay(Simulator([act]), name_of(act), actions)
            oracle.write_proof(name_of(act), actions, status, folder=folder / "proofs")
    yield from (whole / path.relative_to(folder) for path in made)


def build(acts: list[Act], folder: Path) -> Iterator[Path]:
    """Build a game of these acts in a folder of its name: the pack to run without an emulator
    and, if the console's compiler is installed, ROM and states. Yields the files."""
    folder.mkdir(exist_ok=True)
    for name in KEPT:
        shutil.copy(build_states.FOLDER / name, folder / name)
    yield pack.write(folder, acts)
    if not has_compiler():
        return
    yield from _sources(acts, folder / "src")
    _compile(folder)
    yield folder / "rom.md"
    yield from build_states.build(folder)


def has_compiler() -> bool:
    """Whether ROMs and their states can be built: from the sources, which an installed package
    lacks, and with the emulator."""
    tools = all(map(which, (COMPILER, "make"))) and find_spec("stable_retro") is not None
    return tools and (CARTRIDGE / "Makefile").is_file()


def folder_of(game: str) -> Path:
    """The folder of a cartridge, by its game's name; if there is none, where it would be."""
    return games().get(game, build_states.INTEGRATION / game)


def acts_of(game: str) -> list[Act]:
    """The acts of a cartridge, by its game's name. Raises UserError if its record is missing, or if
    this generator makes other acts than those that the cartridge has."""
    if game == GAME:
        return all_acts()
    path = folder_of(game) / ACTS
    if not path.is_file():
        raise UserError(
            f"no {path}: expected a game that `python -m cartridge.levels new` made; make it again"
        )
    made = json.loads(path.read_text())
    acts = [
        make_act(zone, number, made["seed"], layout=layout)
        for (zone, number), layout in zip(PLACES, made["layouts"], strict=False)  # see the hash
    ]
    if made.get("sha256") != hash_of(acts):
        raise UserError(
            f"{path.parent} was made by another version of the level generator; delete it, and run "
            f"`python -m cartridge.levels new --seed {made['seed']} --out {path.parent.parent}`"
        )
    return acts


def proofs_of(game: str) -> Path:
    """The folder of a cartridge's proofs, by its game's name."""
    return oracle.PROOFS if game == GAME else folder_of(game) / "proofs"


def hash_of(acts: Sequence[Act]) -> str:
    """The SHA-256 of all that acts consist of."""
    parts = [vars(act) | {"spawns": [vars(spawn) for spawn in act.spawns]} for act in acts]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def finishable(seed: int) -> Iterator[tuple[Act, list[int]]]:
    """Every act of a seed, in its first layout that can be finished, with the actions to do so."""
    return (finishable_act(zone, number, seed) for zone, number in PLACES)


def finishable_act(zone: int, number: int, seed: int) -> tuple[Act, list[int]]:
    """An act in its first layout that can be finished, with the actions to do so. Raises UserError
    if none of `LAYOUTS` can."""
    for layout in range(LAYOUTS):
        act = make_act(zone, number, seed, layout=layout)
        if problems(act):
            continue
        try:
            return act, oracle.plan(Simulator([act]), act)
        except UserError:
            continue
    name = f"{ZONES[zone].name}.Act{number}"
    raise UserError(
        f"{name}: none of {LAYOUTS} layouts of seed {seed} can be finished; give another seed"
    )


def _sources(acts: list[Act], folder: Path) -> Iterator[Path]:
    """The generated C files."""
    folder.mkdir()
    for name, text in emit.files(acts).items():
        (folder / name).write_text(text)
        yield folder / name


def _compile(folder: Path) -> None:
    """Build the ROM from the engine and the folder's sources."""
    with tempfile.TemporaryDirectory() as place:  # make cannot handle spaces in paths
        at = Path(place)
        shutil.copytree(folder / "src", at / "src")
        places = (f"GENERATED={at / 'src'}", f"BUILD={at / 'build'}", f"ROM={at / 'rom.md'}")
        command = ("make", "-s", "-C", str(CARTRIDGE), *places, str(at / "rom.md"))
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UserError(f"the ROM could not be built: {done.stderr.strip()[-300:]}")
        shutil.copy(at / "rom.md", folder / "rom.md")
