"""Tasks wait for one another, and runs that are complete stay so, as long as they are the same."""

import dataclasses
import importlib
import json
import math
from pathlib import Path

import pytest

from benchmarks import runs
from benchmarks.es_play import PlayConfig, arguments_of, is_played, main
from benchmarks.runs import Run, Task
from contest.match.score import Score
from experiment.checkpoint import save_checkpoint
from experiment.errors import UserError


def one_score(mean: float) -> Score:
    return Score("one", mean, low=mean, high=mean, best=mean + 1, episodes=2, finished=1, steps=10)


def fail() -> None:
    raise UserError("no disk")


def run_in(out: Path, *flags: str, steps: int = 500) -> Run:
    return Run("no.such.module", out / "run", steps, flags, out=out)


def save(run: Run, steps: int) -> None:
    """A checkpoint after so many steps."""
    folder, counters = run.folder / "checkpoints", {"env_steps": steps}
    save_checkpoint(folder, agent="ppo2", config={}, counters=counters, tensors={})


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
    run, longer = run_in(tmp_path), run_in(tmp_path, steps=501)
    save(run, 500)
    assert runs.complete(run) and not runs.complete(longer)
    runs.forget_checkpoints(run.folder)
    assert not (run.folder / "checkpoints").exists()
    assert runs.complete(run) and not runs.complete(longer)
    runs.train(run)  # nothing is left to do


def test_no_run_is_not_complete(tmp_path: Path) -> None:
    assert not runs.complete(run_in(tmp_path, steps=0))


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The arguments of what `train` starts, which does nothing."""
    seen: list[list[str]] = []
    monkeypatch.setattr(runs, "run_logged", lambda words, log, threads: seen.append(words))
    return seen


def test_run_goes_on_with_its_own_arguments_and_no_others(
    tmp_path: Path, logged: list[list[str]]
) -> None:
    run, other = run_in(tmp_path, "--init", "one"), run_in(tmp_path, "--init", "other")
    runs.train(run)
    save(run, 200)
    runs.train(run)
    words = ["no.such.module", "--run-dir", str(run.folder)]
    assert logged == [[*words, "--init", "one", "--timesteps", "500"], [*words, "--resume"]]
    for use in (runs.train, runs.complete):
        with pytest.raises(UserError, match=r"was made with .*--init one .*another --out"):
            use(other)
    (tmp_path / "run.args.json").unlink()  # as runs of earlier versions have none
    assert not runs.complete(other)


def test_place_of_all_runs_makes_no_difference(tmp_path: Path, logged: list[list[str]]) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    run = run_in(here, "--init", str(here / "joint"))
    runs.train(run)
    save(run, 500)
    here.rename(there)
    assert runs.complete(run_in(there, "--init", str(there / "joint")))


def test_run_begun_anew_has_its_new_arguments(tmp_path: Path, logged: list[list[str]]) -> None:
    runs.train(run_in(tmp_path, "--seed", "1"))
    (tmp_path / "run").mkdir()  # stopped before its first checkpoint
    runs.train(run_in(tmp_path, "--seed", "2"))
    save(run_in(tmp_path), 500)
    assert runs.complete(run_in(tmp_path, "--seed", "2"))
    assert (tmp_path / "run.cut-1").is_dir()


@pytest.mark.parametrize("steps", [400, 600])
def test_run_of_another_length_is_refused_whoever_made_it(tmp_path: Path, steps: int) -> None:
    run = run_in(tmp_path)
    save(run, 500)
    (run.folder / "config.json").write_text('{"timesteps": 500}')
    assert runs.complete(run)
    with pytest.raises(UserError, match=f"a run of 500 steps, not of {steps}; .* another --out"):
        runs.train(dataclasses.replace(run, steps=steps))


def test_kept_score_is_played_once(tmp_path: Path) -> None:
    path = tmp_path / "level" / "random-0.json"
    assert runs.kept_score(path, lambda: one_score(7.0), ["--steps", "9"]) == one_score(7.0)
    assert runs.kept_score(path, lambda: one_score(8.0), ["--steps", "9"]) == one_score(7.0)
    with pytest.raises(UserError, match="was made with --steps 9; give the same"):
        runs.kept_score(path, lambda: one_score(8.0), ["--steps", "10"])


def test_score_of_one_episode_is_kept_as_json_has_it(tmp_path: Path) -> None:
    path = tmp_path / "random-0.json"
    unsure = dataclasses.replace(one_score(7.0), low=math.nan, high=math.nan)
    for _ in range(2):
        assert math.isnan(runs.kept_score(path, lambda: unsure, []).low)
    assert json.loads(path.read_text())["low"] is None
    path.write_text(json.dumps(dataclasses.asdict(unsure)))  # as earlier versions did
    assert math.isnan(runs.kept_score(path, lambda: one_score(8.0), []).high)


def test_played_episodes_are_not_those_of_other_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = PlayConfig(agent=str(tmp_path / "search-0"), out=tmp_path / "play" / "one.json")
    assert not is_played(config)
    runs.keep_arguments(config.out, arguments_of(config))
    config.out.write_text("[]")
    assert is_played(dataclasses.replace(config, num_envs=1))  # which changes nothing
    with pytest.raises(SystemExit, match="2"):
        main([*runs.flags_of(config), "--seed", "5"])
    assert "was made with --agent search-0 --no-draws" in capsys.readouterr().err


def test_row_is_the_mean_of_runs_and_the_sum_of_episodes() -> None:
    row = runs.row("all", [one_score(1.0), one_score(3.0)])
    assert (row.mean, row.low, row.high, row.best) == (2.0, 1.0, 3.0, 4.0)
    assert (row.episodes, row.finished, row.steps) == (4, 2, 20)


@pytest.mark.parametrize("name", ["es_learning", "jerk_ablation", "ppo2_learning", "transfer"])
def test_a_place_that_cannot_be_written_shows_before_any_task(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    flags = {"es_learning": ["--init", "run"], "jerk_ablation": ["--only"]}.get(name, [])
    command = importlib.import_module(f"benchmarks.{name}").main
    with pytest.raises(SystemExit) as stop:
        command(["--out", str(tmp_path / "file"), *flags])
    assert stop.value.code == 2
    said = capsys.readouterr()
    assert said.err.startswith("error: cannot write") and said.err.count("\n") == 1
    assert not said.out
