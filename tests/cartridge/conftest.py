import shutil
import subprocess

import pytest

from cartridge import build_states
from cartridge.levels.generator import all_acts
from cartridge.levels.simulator import Simulator
from tests.games.retro.conftest import own_games

__all__ = ["own_games"]


def skip_without(*programs):
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        pytest.skip(f"no {' and no '.join(missing)}")


def make(folder, target, **places):
    """Build a target of the Makefile in a folder -> what the build said."""
    given = [f"{name}={place}" for name, place in {"BUILD": folder, **places}.items()]
    command = ["make", "-s", "-j2", "-C", build_states.INTEGRATION.parent, *given, target]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="session")
def simulator():
    """Of all acts."""
    return Simulator(all_acts())


@pytest.fixture(scope="session")
def console_compiler():
    """Skips what builds a ROM, where it cannot be built."""
    skip_without("m68k-linux-gnu-gcc", "make")
