import json
import re
from ast import literal_eval
from itertools import islice
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import VectorEnv
from rich.console import Console

from retro_agents.games.retro.references import RunAndJump
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
from tests.runs import ROOT

LENGTHS = (3, 5)  # episode lengths of the two environments


class FakeEnvs(VectorEnv):
    """Two environments; each step earns its environment's number + 1; SAME_STEP autoreset."""

    num_envs = 2

    def __init__(self):
        self.taken: list[np.ndarray] = []
        self.length = [0, 0]

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.seeded = seed
        infos: dict[str, Any] = {}
        for i in np.flatnonzero(self.length):  # what is cut
            cut = {**self.record(i), "finished": False}
            infos = self._add_info(infos, {"episode_record": cut}, i)
        self.length = [0, 0]
        return np.zeros((2, 4, 8, 8), np.uint8), infos

    def step(self, actions):
        self.taken.append(actions)
        infos: dict[str, Any] = {}
        over = [False, False]
        for i in range(2):
            self.length[i] += 1
            if self.length[i] == LENGTHS[i]:
                over[i] = True
                infos = self._add_info(infos, {"episode_record": self.record(i)}, i)
                self.length[i] = 0
        return (
            np.zeros((2, 4, 8, 8), np.uint8),
            np.ones(2),
            np.array(over),
            np.zeros(2, bool),
            infos,
        )

    def record(self, i):
        total = float(self.length[i] * (i + 1))
        progress = total / 9000
        found = {"r": total, "l": self.length[i], "level": f"G:{i}", "progress": progress}
        return found | {"finished": i == 1}


def episode(r, *, finished=False):
    return Episode(level="G:S", r=r, l=10, progress=0.5, finished=finished)


def test_every_episode_counts_and_the_unfinished_ones():
    envs = FakeEnvs()
    played = islice(steps_of(RunAndJump(), envs, seed=9), 11)
    episodes = [as_episode(found) for ended in played for found in ended]
    episodes += unfinished_episodes(envs)
    assert envs.seeded == 9
    assert [(e.level, e.r, e.l, e.finished, e.complete) for e in episodes] == [
        ("G:0", 3.0, 3, False, True),
        ("G:1", 10.0, 5, True, True),
        ("G:0", 3.0, 3, False, True),
        ("G:0", 3.0, 3, False, True),
        ("G:1", 10.0, 5, True, True),
        ("G:0", 2.0, 2, False, False),
        ("G:1", 2.0, 1, False, False),
    ]
    assert sum(e.l for e in episodes) == 22


def test_an_episode_without_a_step_is_none():
    assert unfinished_episodes(FakeEnvs()) == []


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
            log.log(number, 0, {"r": e.r, "l": e.l, "level": e.level} | vars_of(e))
    assert read_episodes(tmp_path) == [episode(1.5), episode(2.25, finished=True)]


def vars_of(e):
    return {"progress": e.progress, "finished": e.finished}


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


def test_the_pages_comparison_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs/contest/index.md").read_text()
    (compare,) = re.findall(r"```py\n(.*?)```", text, re.S)
    for name, mean in (("a", 2.0), ("b", 1.0)):
        folder = tmp_path / "runs" / "contest" / name
        folder.mkdir(parents=True)
        row = {"level": "one", "by_seed": {"0": mean, "1": mean + 0.5}}
        (folder / "result.json").write_text(json.dumps({"levels": [row]}))
    monkeypatch.chdir(tmp_path)
    exec(compare, {})
    difference, chances = capsys.readouterr().out.splitlines()
    low, high = literal_eval(difference)
    assert low < 1.0 < high and chances.startswith("1.0 ")
