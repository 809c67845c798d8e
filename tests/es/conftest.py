import pytest

from es.config import ESConfig
from retro_agents.run.config import replaced
from tests.es.lanes import LEVELS


@pytest.fixture
def quick():
    return replaced(
        ESConfig(),
        levels=",".join(LEVELS),
        timesteps=100_000,
        device="cpu",
        init="",
        layer="head",
        image_height=36,
        image_width=36,
        hidden=32,
        encoder="data-efficient",
        pairs=4,
        levels_per_generation=1,
        sigma=1.0,
        learning_rate=0.2,
        weight_decay=0.0,
    )
