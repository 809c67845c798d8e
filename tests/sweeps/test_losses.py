"""Losses add up to all that is lacking; a score grows with the episodes that have ended."""

import tracemalloc

import numpy as np
import pytest

from retro_agents.contract.envs import LARGEST_RETURN
from retro_agents.sweeps.losses import grown, lost

COLUMNS = {
    "step": np.array([10, 20, 30, 10, 40]),
    "level": np.array(["a", "a", "a", "b", "b"]),
    "r": np.array([1000.0, 4000.0, 3000.0, 2000.0, 500.0]),
    "kind": np.array(["explore", "mutant", "replay", "explore", "mutant"]),
}


def test_losses_by_hand() -> None:
    parts = lost(COLUMNS)
    # a: known 1,000, 4,000, 4,000; b: 2,000 twice.
    assert parts["undiscovered"] == pytest.approx(((9000 + 6000 + 6000) / 3 + 8000) / 2)
    assert parts["replaying"] == pytest.approx((1000 / 3 + 0) / 2)
    assert parts["exploring"] == pytest.approx((0 + 1500 / 2) / 2)


def test_losses_and_score_are_the_most() -> None:
    rng = np.random.default_rng(0)
    played = {
        "step": np.arange(40),
        "level": np.repeat(["a", "b"], 20),
        "r": rng.uniform(0, LARGEST_RETURN, 40),
        "kind": rng.choice(["explore", "replay", "mutant"], 40),
    }
    assert sum(lost(played).values()) + grown(played, 40)[-1] == pytest.approx(LARGEST_RETURN)


def test_score_grows_with_the_episodes_that_have_ended() -> None:
    tenths = grown(COLUMNS, 40)
    assert np.isnan(tenths[:2]).all() and tenths[2] == 1500.0  # at steps 4, 8 and 12
    assert tenths[4] == 2250.0  # at step 20: 2,500 and 2,000
    assert tenths[-1] == pytest.approx((8000 / 3 + 1250) / 2)


def test_a_score_is_known_once_every_level_has_ended_an_episode() -> None:
    columns = {"step": np.array([10, 40]), "level": np.array(["a", "b"]), "r": np.full(2, 2000.0)}
    tenths = grown(columns, 40)
    assert np.isnan(tenths[:-1]).all() and tenths[-1] == 2000.0  # not 1,000, as if b gave nothing


def test_memory_grows_with_the_episodes_also_where_each_has_a_level_of_its_own() -> None:
    count = 4_000
    steps = np.arange(count)
    columns = {"level": steps.astype(str), "step": steps, "r": np.ones(count)}
    tracemalloc.start()
    curve = grown(columns, count)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert curve[-1] == pytest.approx(1.0)
    assert peak < 1_000 * count  # a mask of all episodes for each level: 4,000 bytes an episode
