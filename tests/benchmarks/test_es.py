import sys

import numpy as np
import pytest

from benchmarks.es import BLOCKS, CLAIM, FC, main, schedule, simulate
from es.agent import ESAgent, shapes
from es.config import ESConfig
from es.memory import Noise


def test_fully_connected_layer_of_the_simulation_is_the_real_one():
    agent = ESAgent.start(ESConfig(layer="fc"))
    noise = Noise(0, shapes(agent.net, agent.names))
    assert (noise.size, noise.blocks) == (FC, BLOCKS)


def test_one_process_plays_everything_and_never_waits():
    last, waiting = schedule(np.array([3.0, 1.0, 2.0]), 1)
    assert last == pytest.approx(6.0 + 3 * CLAIM) and waiting < 1e-4


def test_slow_episode_holds_up_the_end_and_nothing_else():
    last, waiting = schedule(np.array([9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]), 2)
    assert last == pytest.approx(9.0, abs=1e-3)
    assert waiting == pytest.approx(1.0 - 17.0 / 18.0, abs=1e-3)


def test_efficiency_is_lower_where_the_update_is_not_divided():
    updates = {"head": 0.05, "fc": 15.0, "fc-rank1": 0.15}
    for row in simulate(np.array([100.0, 400.0, 4500.0]), 0.004, updates)[:4]:
        assert 0.0 < row["fc_efficiency"] < row["fc_divided_efficiency"] < 1.0
        assert row["fc-rank1_efficiency"] < row["head_efficiency"] < 1.0 - 0.9 * row["waiting"]


@pytest.mark.parametrize(("text", "says"), [(None, "cannot read"), ("step\n1\n", "no column l")])
def test_episodes_that_cannot_be_read_are_refused_before_anything_is_measured(
    text, says, tmp_path, monkeypatch, capsys
):
    path = tmp_path / "episodes.csv"
    if text:
        path.write_text(text)
    monkeypatch.setattr("benchmarks.es.run_case", lambda *_, **__: pytest.fail("measured"))
    monkeypatch.setattr(sys, "argv", ["es", "--episodes", str(path)])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert says in capsys.readouterr().err
