"""Levels that every machine has: the project's own game, and the one in stable-retro's wheel."""

import json
import shutil
from contextlib import ExitStack, closing

import pytest
from stable_retro.data import Integrations

from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.integrations import add_custom_folders, file_of, games
from retro_agents.games.retro.levels import Level

AIRSTRIKER = Level("Airstriker-Genesis-v0", "Level1")
BRAMBLE = Level("BrambleDash-Genesis-v0", "BrambleWood.Act1")

SCRIPT = """
previous = nil
frames = 0
function reward()
  local gain = 0
  if previous ~= nil then gain = data.score - previous end
  previous = data.score
  return gain + 0.5
end
function done()
  frames = frames + 1
  return frames > 150 or data.lives < 3
end
"""


@pytest.fixture
def closed():
    """Takes environments, and closes them after the test."""
    with ExitStack() as stack:
        yield lambda env: stack.enter_context(closing(env))


@pytest.fixture
def own_games():
    """Adds folders of the user's own games until the test ends."""
    games.cache_clear()
    yield add_custom_folders
    Integrations.clear_custom_paths()
    games.cache_clear()


@pytest.fixture
def copied(tmp_path, own_games):
    """Copies files of a game to a game of the user's own -> its folder."""

    def copy(source, name, *files):
        game = tmp_path / name
        game.mkdir()
        for file in files:
            shutil.copy(file_of(source, file), game)
        own_games([str(tmp_path)])
        return game

    return copy


@pytest.fixture
def scripted_level(copied):
    """Airstriker under a scenario whose reward and end are Lua functions with a memory."""
    files = ("rom.md", "data.json", "metadata.json", "Level1.state")
    game = copied(AIRSTRIKER.game, "Scripted-Genesis", *files)
    scenario = {
        "reward": {"script": "lua:reward"},
        "done": {"script": "lua:done"},
        "scripts": ["script.lua"],
    }
    (game / "contest.json").write_text(json.dumps(scenario))
    (game / "script.lua").write_text(SCRIPT)
    return Level(game.name, "Level1"), EnvConfig()


@pytest.fixture(params=["airstriker", "bramble", "native", "scripted"])
def playable(request):
    """A level and settings under which it can be played, for each kind of scenario."""
    if request.param == "airstriker":
        return AIRSTRIKER, EnvConfig(scenario="scenario")
    if request.param in ("bramble", "native"):
        return BRAMBLE, EnvConfig(backend="native" if request.param == "native" else "emulator")
    return request.getfixturevalue("scripted_level")


@pytest.fixture
def bramble():
    """One level in the emulator, where the kind of scenario does not matter."""
    return BRAMBLE, EnvConfig(backend="emulator")


@pytest.fixture(params=["native", "emulator"])
def either(request):
    """The same level, with each of the back ends."""
    return BRAMBLE, EnvConfig(backend=request.param)
