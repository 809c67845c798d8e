"""Tasks wait for one another, and runs that are complete stay so."""

from pathlib import Path

import pytest

from benchmarks import runs
from benchmarks.runs import Task
from contest.score import Score
from experiment.checkpoint import save_checkpoint
from experiment.errors import UserError


def one_score(mean: float) -> Score:
    return Score("one", mean, low=mean, high=mean, best=mean + 1, episodes=2, finished=1, steps=10)


def fail() -> None:
    raise UserError("no disk")


def test_task_begins_after_what_it_needs_and_others_go_before_it() -> None:
    seen: list[str] = []
    tasks = [
        Task("late", lambda: seen.append("late"), needs=("early",)),
        Task("early", lambda: seen.append("early")),
        Task("other", lambda: seen.append("other")),
    ]
    runs.work(tasks, 1, say=lambda text: None)
    assert seen == ["early", "late", "other"]


def test_failure_stops_only_what_needs_it() -> None:
    said: list[str] = []
    tasks = [Task("a", fail), Task("b", lambda: None), Task("c", lambda: None, needs=("a",))]
    with pytest.raises(UserError, match=r"1 of 3 failed: a; 1 that need others"):
        runs.work(tasks, 2, say=said.append)
    assert sorted(said) == ["done: b", "failed: a: no disk"]


def test_run_without_its_checkpoints_is_still_complete(tmp_path: Path) -> None:
    run = tmp_path / "run"
    counters = {"env_steps": 500}
    save_checkpoint(run / "checkpoints", agent="ppo2", config={}, counters=counters, tensors={})
    assert runs.complete(run, 500) and not runs.complete(run, 501)
    runs.forget_checkpoints(run)
    assert not (run / "checkpoints").exists()
    assert runs.complete(run, 500) and not runs.complete(run, 501)
    runs.train("no.such.module", run, 500, [])  # nothing is left to do


def test_no_run_is_not_complete(tmp_path: Path) -> None:
    assert not runs.complete(tmp_path / "none", 0)


def test_kept_score_is_played_once(tmp_path: Path) -> None:
    path = tmp_path / "level" / "random-0.json"
    assert runs.kept_score(path, lambda: one_score(7.0)) == one_score(7.0)
    assert runs.kept_score(path, lambda: one_score(8.0)) == one_score(7.0)


def test_row_is_the_mean_of_runs_and_the_sum_of_episodes() -> None:
    row = runs.row("all", [one_score(1.0), one_score(3.0)])
    assert (row.mean, row.low, row.high, row.best) == (2.0, 1.0, 3.0, 4.0)
    assert (row.episodes, row.finished, row.steps) == (4, 2, 20)
