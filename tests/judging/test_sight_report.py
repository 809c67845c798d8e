"""`retro-agents evaluate --sight`: from a test's numbers to what is said of them."""

import io
import json
from unittest.mock import Mock

import numpy as np
import pytest
from rich.console import Console

from retro_agents.games.families import make
from retro_agents.games.retro.config import EnvConfig
from retro_agents.judging.evaluate import main
from retro_agents.judging.sight import PLAYS, Sight
from retro_agents.judging.sight_report import (
    WAYS,
    by_level,
    numbers_of,
    sight_of,
    sight_table,
    verdict,
)
from tests.agents.tiny import train

GAME = "BrambleDash-Genesis-v0"
LEVELS = [f"{GAME}:BrambleWood.Act3", f"{GAME}:RustCavern.Act2"]


def sight(seeing, shuffled, blind):
    """The result of a test with 4 rows, whose levels alternate, and one episode each."""
    plays = zip(PLAYS, (seeing, shuffled, blind), strict=True)
    return Sight({name: [{"r": r} for r in row] for name, row in plays}, 4, np.ones(2) / 2)


def test_rows_are_those_to_which_make_deals_the_levels_out():
    envs = make(",".join(LEVELS), EnvConfig(), num_envs=6)
    envs.reset(seed=0)
    assert envs.levels == LEVELS * 3
    envs.close()
    returns = np.array([[1, 2], [10, 20], [3, 4], [30, 40]])
    assert by_level(returns, LEVELS) == {
        LEVELS[0]: {0: 1, 1: 2, 2: 3, 3: 4},
        LEVELS[1]: {0: 10, 1: 20, 2: 30, 3: 40},
    }


def test_it_sees_only_where_both_gains_are_surely_above_nothing():
    high, low, wide = [100, 200, 101, 201], [10, 20, 11, 21], [0, 0, 300, 150]
    numbers = numbers_of(sight(high, low, low), LEVELS, ["a", "b"])
    assert numbers["seeing"]["mean"] == 150.5 and numbers["blind"]["mean"] == 15.5
    assert numbers["seeing"]["levels"] == {LEVELS[0]: [100, 101], LEVELS[1]: [200, 201]}
    assert numbers["shuffled"]["gain"]["mean"] == 135 and numbers["sees"]
    low_end, mean, high_end = (numbers["seeing"][key] for key in ("low", "mean", "high"))
    assert mean - low_end == pytest.approx(high_end - mean) == pytest.approx(12.706 / 2, abs=0.01)
    assert numbers["frequencies"] == {"a": 0.5, "b": 0.5}
    for others in ((wide, low), (low, wide), (high, low)):
        assert not numbers_of(sight(high, *others), LEVELS, ["a", "b"])["sees"]
    found = {"as it learns": numbers, "best action": {**numbers, "sees": False}}
    assert (
        verdict(found, "x")
        == "x: as it learns, it uses what it sees; best action, not shown to use what it sees."
    )
    shown = io.StringIO()
    Console(width=80, file=shown).print(sight_table(found, title="x"))
    lines = shown.getvalue().splitlines()
    assert sum("+135" in line and "132 – 138" in line for line in lines) == 4


def test_a_table_of_sight_fits_a_terminal():
    play = {"mean": 1234.0, "low": -1234.0, "high": 10000.0}
    plays = {"seeing": play, "shuffled": {**play, "gain": play}, "blind": {**play, "gain": play}}
    shown = io.StringIO()
    found = {"as it learns": plays, "best action": plays}
    Console(width=80, file=shown).print(sight_table(found, title="x"))
    assert shown.getvalue().count("-1,234 – 10,000") == 10


def test_a_trained_agent_is_tested_both_ways(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("retro_agents.judging.policies.fields", lambda *_: [])  # short episodes
    train("rainbow", tmp_path / "agent", "--timesteps", 0, "--episode-steps", 12)
    words = ["--sight", "--levels", ",".join(LEVELS), "--episodes", "2"]
    for out in ("one", "two"):
        main([str(tmp_path / "agent"), *words, "--out", str(tmp_path / out)])
    assert "as it learns" in capsys.readouterr().out
    results = [json.loads((tmp_path / out / "result.json").read_text()) for out in ("one", "two")]
    assert results[0] == results[1]
    assert results[0]["episodes"] == 2 and results[0]["sight"].keys() == WAYS.keys()
    for plays in results[0]["sight"].values():
        assert sum(plays["frequencies"].values()) == pytest.approx(1)
        for name in PLAYS:
            assert [*map(len, plays[name]["levels"].values())] == [2, 2]


def test_an_agent_is_tested_as_it_draws_while_it_learns_and_by_its_best_action(monkeypatch):
    tested = Mock(return_value=sight(*[[1.0, 2.0, 3.0, 4.0]] * 3))
    monkeypatch.setattr("retro_agents.judging.sight_report.tested", tested)
    names = {"spec.return_value.action_names": ("a", "b")}
    found = sight_of(Mock(), LEVELS, Mock(**names), episodes=2)
    plays = [call.kwargs["play"] for call in tested.call_args_list]
    assert [*zip(found, plays, strict=True)] == [("as it learns", "draw"), ("best action", "best")]
