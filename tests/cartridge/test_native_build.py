"""The committed WebAssembly and pack against the sources that they are made of."""

import gzip
import subprocess

import pytest

from cartridge import build_states
from cartridge.levels import pack
from cartridge.levels.generator import all_acts
from cartridge.levels.splits import level_names
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.engine import Games, cartridge
from tests.cartridge.conftest import make, skip_without

VERSION = "14.0.6"


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory):
    """A folder with bramble.wasm and the link's map, made anew; the build itself checks the map."""
    skip_without("clang", "wasm-ld", "make")
    folder = tmp_path_factory.mktemp("native")
    wasm = folder / "bramble.wasm"
    make(folder, wasm, WASM=wasm).check_returncode()
    return folder


def test_committed_code_equals_a_rebuild(rebuilt):
    version = subprocess.run(["clang", "--version"], capture_output=True, text=True, check=True)
    if VERSION not in version.stdout:
        pytest.skip(f"the committed file was built with clang {VERSION}")
    committed = build_states.FOLDER / "bramble.wasm"
    assert (rebuilt / "bramble.wasm").read_bytes() == committed.read_bytes()


def test_what_a_game_changes_is_one_range(rebuilt):
    rows = (rebuilt / "native" / "map.txt").read_text().splitlines()
    data = next(i for i, row in enumerate(rows) if row.endswith(" DATA"))
    symbols = [cells for row in rows[data + 1 :] if len(cells := row.split()) == 4]
    place = {row[3]: int(row[0], 16) for row in symbols}
    begin = place["state_begin"]
    end = max(int(row[0], 16) + int(row[2], 16) for row in symbols if row[3] == ".bss")
    changing = ("ram", "hero", "medium", "shapes", "objects", "camera_x", "plane_a", "sprite_table")
    kept = ("act_table", "line", "zones", "sprite_tiles", "arts", "settings", "heap", "screen")
    assert all(begin <= place[name] < end for name in changing)
    assert all(place[name] < begin for name in kept)


def test_a_games_record_has_the_committed_codes_size():
    games = Games(cartridge(build_states.FOLDER.name), 64, config=EnvConfig(), pictures=False)
    assert games.settings["observations"] - games.settings["game"] == games.game.nbytes


def test_committed_pack_is_of_the_committed_acts():
    committed = (build_states.FOLDER / pack.FILE).read_bytes()
    assert gzip.decompress(committed) == pack.pack(all_acts())
    assert [lv.state for lv in cartridge(build_states.FOLDER.name).acts] == level_names()
