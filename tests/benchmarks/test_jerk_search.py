"""Searches in the engine are JERK's own, seeded, and refuse what needs pictures."""

import pytest

from benchmarks.jerk_search import SearchConfig, config_of, search
from cartridge.levels.generator import all_acts
from cartridge.levels.simulator import Simulator
from experiment.errors import UserError


@pytest.fixture(scope="module")
def simulator():
    return Simulator(all_acts())


def test_a_search_is_seeded_and_gets_somewhere(simulator):
    config = config_of(SearchConfig(steps=6_000), "mutating", 0)
    returns = search(simulator, "BrambleWood.Act2", config)
    assert returns == search(simulator, "BrambleWood.Act2", config)
    assert len(returns) >= 3 and max(returns) > 2_000.0 and max(returns) <= 10_000.0
    other = config_of(SearchConfig(steps=6_000), "mutating", 1)
    assert returns != search(simulator, "BrambleWood.Act2", other)


def test_a_preset_that_needs_pictures_is_refused():
    with pytest.raises(UserError, match="hybrid needs pictures"):
        config_of(SearchConfig(), "hybrid", 0)
