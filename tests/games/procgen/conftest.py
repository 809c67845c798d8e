"""What tests of Procgen need of the machine."""

import pytest

from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.procgen.pool import open_pool
from retro_agents.ground.errors import UserError


def needs_procgen():
    """Skip where EnvPool cannot start, and say why."""
    try:
        open_pool("coinrun", ProcgenConfig(), [0])
    except (ImportError, UserError) as error:
        pytest.skip(f"no Procgen here: {error}")


@pytest.fixture(autouse=True)
def _procgen():
    needs_procgen()
