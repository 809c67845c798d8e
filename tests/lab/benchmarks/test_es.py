import sys

import numpy as np
import pytest

from es.agent import ESAgent
from es.config import ESConfig
from es.memory import Noise
from lab.benchmarks.es import CLAIM, LAYERS, main, schedule, simulate


@pytest.mark.parametrize("layer", list(LAYERS))
def test_layers_of_the_simulation_are_the_real_ones(layer):
    noise = Noise(0, len(ESAgent.start(ESConfig(layer=layer)).theta))
    assert (noise.size, noise.blocks) == LAYERS[layer]


def test_one_process_plays_everything_and_never_waits():
    last, waiting = schedule(np.array([3.0, 1.0, 2.0]), 1)
    assert last == pytest.approx(6.0 + 3 * CLAIM) and waiting < 1e-4


def test_slow_episode_holds_up_the_end_and_nothing_else():
    last, waiting = schedule(np.array([9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 2)
    assert last == pytest.approx(9.0, abs=1e-3)
    assert waiting == pytest.approx(1.0 - 17.0 / 18.0, abs=1e-3)


def test_efficiency_is_what_waiting_exchange_and_update_leave():
    lengths, updates = np.array([100.0, 400.0, 4500.0]), {"head": 0.05, "fc": 15.0}
    for row in simulate(lengths, 0.004, updates):
        assert 0.0 < row["fc_efficiency"] < row["head_efficiency"] < 1.0 - row["waiting"]
    row = simulate(lengths, 0.004, updates)[0]  # 100 processes and pairs: a block each
    played = row["play_seconds"]
    left = (1.0 - row["waiting"]) * played
    update = 15.0 * 0.1 / 99 + 4e-9 * 1_606_144 + 7 * 20e-6
    expected = left / (played + row["exchange_seconds"] + update)
    assert row["fc_efficiency"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("text", "says"), [(None, "cannot read"), ("step\n1\n", "no column l")])
def test_episodes_that_cannot_be_read_are_refused_before_anything_is_measured(
    text, says, tmp_path, monkeypatch, refused
):
    path = tmp_path / "episodes.csv"
    if text:
        path.write_text(text)
    monkeypatch.setattr("lab.benchmarks.es.run_case", lambda *_, **__: pytest.fail("measured"))
    monkeypatch.setattr(sys, "argv", ["es", "--episodes", str(path)])
    assert says in refused(main)
