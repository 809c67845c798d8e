"""What tests of Procgen need of the machine."""

import pytest

from experiment.errors import UserError
from procgen_env.config import ProcgenConfig
from procgen_env.pool import open_pool


def needs_procgen():
    """Skip where EnvPool cannot start, and say why."""
    try:
        open_pool("coinrun", ProcgenConfig(), [0])
    except (ImportError, UserError) as error:
        pytest.skip(f"no Procgen here: {error}")


@pytest.fixture(autouse=True)
def _procgen():
    needs_procgen()
