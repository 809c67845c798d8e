"""The real levels, for whoever has imported the ROMs: `scripts/test -m sonic`, some minutes.

BrambleDash's cartridge stands in for what its emulator can show: these tests run everywhere.
"""

import re
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.integrations import file_of, retro_data, rom_of
from retro_agents.games.retro.levels import Level, parse_levels
from retro_agents.games.retro.make import make_env
from retro_agents.games.retro.recordings import read_recording
from retro_agents.games.retro.rom_library import Library, applied, digest
from retro_agents.games.retro.splits import split_names
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.metrics import read_columns
from tests.agents.tiny import main

RIGHT = 1
HILL = Level("SonicTheHedgehog-Genesis-v0", "GreenHillZone.Act1")
WOOD = Level("BrambleDash-Genesis-v0", "BrambleWood.Act1")
SONIC = pytest.param(HILL, marks=pytest.mark.sonic)
CONFIG = EnvConfig(backend="emulator", stick_probability=0.0).with_raw_rewards()


@pytest.fixture
def imported():
    """Skips a test without the ROMs."""
    if rom_of(HILL.game) is None:
        pytest.skip("there are no Sonic ROMs: `retro-agents import-roms DIR` imports your own")


@pytest.fixture(params=[WOOD, SONIC], ids=str)
def level(request):
    """A level whose ROM is there."""
    if request.param is HILL:
        request.getfixturevalue("imported")
    return request.param


def furthest(level, info):
    """The place where a level ends, by its game's own table."""
    if level == WOOD:
        return info["end_x"]
    script = file_of(level.game, "script.lua").read_text()
    return int(re.search(r'\["zone=0,act=0"\] = (0x\w+)', script)[1], 16)


def test_ten_recorded_steps_pay_for_the_way_that_they_go(level, tmp_path):
    with closing(make_env(level, CONFIG, record_dir=tmp_path)) as env:
        obs, info = env.reset(seed=0)
        places, rewards, end = [info["x"]], [], furthest(level, info)
        for _ in range(10):
            obs, reward, terminated, truncated, info = env.step(RIGHT)
            assert obs.shape == (4, 84, 84) and obs.any() and not terminated and not truncated
            places.append(info["x"])
            rewards.append(reward)
    assert places[-1] > places[0]
    want = 9000.0 * np.diff(places) / (end - places[0])
    np.testing.assert_allclose(rewards, want, atol=0.25)  # the cartridge counts in quarters
    (recording,) = tmp_path.glob("*.bk2")
    read = read_recording(recording)
    assert read.game == level.game and len(read.pads) == 41 and read.pads[1:, 7].all()


def test_training_on_a_real_level_ends_episodes_and_is_saved(level, tmp_path):
    steps = 2_000 if level == HILL else 128
    flags = f"--preset fast --levels {level} --backend emulator --num-envs 2 --rollout-steps 32"
    flags += f" --episode-steps 30 --device cpu --torch-threads 1 --timesteps {steps}"
    main("ppo2", [*flags.split(), "--run-dir", tmp_path])
    assert load_checkpoint(tmp_path).counters["env_steps"] >= steps
    episodes = read_columns(tmp_path / "episodes.csv")
    assert len(episodes["r"]) >= steps // 40 and np.isfinite(episodes["r"]).all()


@pytest.mark.sonic
@pytest.mark.timeout(600)
def test_every_level_whose_rom_is_there_is_played(imported):
    splits = [name for name in split_names() if name.startswith("sonic")]
    levels = [level for name in splits for level in parse_levels(name) if rom_of(level.game)]
    assert len(levels) >= 17  # those of the first game alone
    for level in levels:
        with closing(make_env(level, CONFIG)) as env:
            obs, info = env.reset(seed=0)
            for _ in range(10):
                obs, reward, *_ = env.step(RIGHT)
            assert obs.any() and np.isfinite(reward) and info["lives"] > 0, level


@pytest.mark.sonic
def test_deltas_make_the_contests_own_levels(imported):
    library, made = Library(), 0
    for delta in sorted(Path(retro_data().path()).glob("*/*/rom.delta")):
        game = delta.parent.name
        sources = library.versions(re.sub(r"Custom[^-]*", "", game) + "-v0")
        roms = [applied(source, delta.read_bytes()) for source in sources]
        assert not roms or {digest(rom) for rom in roms} & {*library.hashes(game)}, game
        made += bool(roms)
    assert made
