import dataclasses
import json
import re
from ast import literal_eval
from itertools import islice
from unittest.mock import Mock

import numpy as np
import pytest
from rich.console import Console

from retro_agents.ground.errors import UserError
from retro_agents.judging.score import (
    Episode,
    Score,
    as_episode,
    read_episodes,
    score,
    score_table,
    steps_of,
    unfinished_episodes,
)
from retro_agents.run.metrics import EpisodeLog
from tests.conftest import JUMP, RIGHT
from tests.runs import ROOT


def episode(r, *, finished=False):
    return Episode(level="G:S", r=r, l=10, progress=0.5, finished=finished)


class Steady:
    """Falls into the hole in the first row, jumps over it in the second."""

    def act(self, obs, *, play, starts):
        return np.array([RIGHT, JUMP])


def test_every_episode_counts_and_the_unfinished_ones(corridor):
    envs = corridor(2)
    envs.reset = Mock(wraps=envs.reset)
    played = islice(steps_of(Steady(), envs, seed=9), 11)
    episodes = [as_episode(found) for ended in played for found in ended]
    envs.reset.assert_called_once_with(seed=9)
    episodes += unfinished_episodes(envs)
    assert [(e.r, e.l, e.finished, e.complete) for e in episodes] == [
        (3.0, 4, False, True),
        (3.0, 4, False, True),
        (8.0, 8, True, True),
        (3.0, 3, False, False),
        (3.0, 3, False, False),
    ]
    assert unfinished_episodes(envs) == []  # an episode without a step is none


def test_the_score_is_the_mean_of_all_episodes():
    found = score("x", [episode(100.0), episode(400.0, finished=True), episode(-50.0)])
    assert found.mean == pytest.approx(150.0)
    assert (found.best, found.episodes, found.finished, found.steps) == (400.0, 3, 1, 30)
    assert found.low <= found.mean <= found.high


def test_an_interval_stays_within_what_a_level_pays():
    found = score("x", [episode(1000.0), episode(9000.0)])
    assert (found.low, found.high) == (0.0, 10_000.0)


def test_no_episodes_have_no_score():
    with pytest.raises(UserError, match="no episode was played"):
        score("x", [])


def test_episodes_of_a_run_read_back(tmp_path):
    with pytest.raises(UserError, match="not a run folder"):
        read_episodes(tmp_path)
    with EpisodeLog(tmp_path) as log:
        assert read_episodes(tmp_path) == []
        for number, e in enumerate([episode(1.5), episode(2.25, finished=True)]):
            log.log(number, 0, dataclasses.asdict(e))
    assert read_episodes(tmp_path) == [episode(1.5), episode(2.25, finished=True)]


def test_tables_show_the_row_and_no_false_interval():
    rows = [
        Score("r[/y]", 812.4, 700.2, 950.9, 3001.0, 1234, 5, 100_000),
        score("one", [episode(7.0)]),
    ]
    console = Console(width=80)
    with console.capture() as capture:
        console.print(score_table(rows, title="runs/[old]/x[/y]"))
    text = capture.get()
    for part in ("812", "700 – 951", "3,001", "1,234", "r[/y]", "runs/[old]/x[/y]"):
        assert part in text
    assert "nan" not in text
    narrow = Console(width=60)
    with narrow.capture() as capture:
        narrow.print(score_table(rows, title=""))
    assert "r[/y]" in capture.get()


def test_the_pages_comparison_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs/contest/index.md").read_text()
    (compare,) = re.findall(r"```py\n(.*?)```", text, re.S)
    for name, mean in (("a", 2.0), ("b", 1.0)):
        folder = tmp_path / "runs" / "contest" / name
        folder.mkdir(parents=True)
        result = {"seed": 0, "scores": [], "returns": {"one": [mean, mean + 0.5]}}
        (folder / "result.json").write_text(json.dumps(result))  # which is read in the same way
    monkeypatch.chdir(tmp_path)
    exec(compare, {})
    difference, chances = capsys.readouterr().out.splitlines()
    low, high = literal_eval(difference)
    assert low < 1.0 < high and chances.startswith("1.0 ")
