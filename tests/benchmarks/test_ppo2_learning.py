"""The parts of benchmarks.ppo2_learning, its tables, and a tiny run of it."""

import dataclasses
import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("stable_baselines3")

from benchmarks import ppo2_learning, ppo2_learning_report
from benchmarks.machine import RESULTS
from benchmarks.ppo2_learning import LearningConfig, Part
from benchmarks.runs import Run
from contest.match.score import Score, read_episodes
from experiment.errors import UserError
from ppo2.train import parse
from rainbow.config import RainbowConfig

GAME = "BrambleDash-Genesis-v0"


def one_score(mean: float) -> Score:
    return Score("one", mean, low=mean, high=mean, best=mean, episodes=1, finished=0, steps=10)


def test_both_ppos_have_the_same_flags_on_a_level() -> None:
    adapt = ppo2_learning.kinds_of(LearningConfig())["adapt"]
    assert adapt["scratch"].flags == adapt["sb3-scratch"].flags
    ours, theirs = (parse(adapt[name].flags) for name in ("joint", "sb3-joint"))
    assert ours.init != theirs.init
    assert dataclasses.replace(ours, init=theirs.init) == theirs


def test_pretrained_nets_fit_the_agents_that_start_from_them() -> None:
    config = LearningConfig()
    joint, kinds = parse(["--preset", "fast"]), ppo2_learning.kinds_of(config)
    adapting = parse(kinds["adapt"]["joint"].flags)
    assert (adapting.encoder, adapting.hidden) == (joint.encoder, joint.hidden)
    train = importlib.import_module("rainbow.train")
    rainbow: RainbowConfig = train.parse(kinds["rainbow"]["encoder-frozen"].flags)
    assert (rainbow.encoder, rainbow.freeze_encoder_updates) == (joint.encoder, 3_000)


def test_ablation_takes_four_training_levels_evenly_spread() -> None:
    levels = ppo2_learning.levels_of(LearningConfig(), "ablation")
    states = ["BrambleWood.Act1", "SnowRidge.Act5", "EmberFoundry.Act4", "SpringOrchard.Act4"]
    assert [level.state for level in levels] == states


def test_seeds_come_after_one_another(tmp_path: Path) -> None:
    config = LearningConfig(out=tmp_path, only=("adapt", "ablation"), seeds=2)
    names = [task.name for task in ppo2_learning.tasks_of(config)]
    assert len(names) == 2 * (11 * 4 + 4 * 5)
    assert all(name.endswith("seed 0") for name in names[:64])


def test_what_needs_an_absent_pretraining_is_left_out(tmp_path: Path) -> None:
    config = LearningConfig(out=tmp_path, only=("joint", "adapt"), seeds=1)
    said: list[str] = []
    tasks = ppo2_learning.doable(config, list(ppo2_learning.tasks_of(config)), say=said.append)
    kinds = {task.name.split()[2] for task in tasks if task.name.startswith("adapt")}
    assert kinds == {"scratch", "joint", "sb3-scratch"}
    assert "sb3" in said[0] and len(said) == 1


def test_seed_counts_once_however_many_levels_it_has() -> None:
    runs = {(0, "a"): one_score(1.0), (0, "b"): one_score(3.0), (1, "a"): one_score(8.0)}
    row = ppo2_learning_report.overall("joint", runs, of=4)
    assert (row.label, row.mean, row.low, row.high) == ("joint (3 of 4)", 5.0, 2.0, 8.0)


def test_difference_is_over_runs_that_both_have() -> None:
    one = {(0, "a"): one_score(5.0), (0, "b"): one_score(3.0), (1, "a"): one_score(100.0)}
    other = {(0, "a"): one_score(1.0), (0, "b"): one_score(5.0), (1, "b"): one_score(0.0)}
    found = ppo2_learning_report.difference(one, other)
    assert found == {"mean": 1.0, "low": -2.0, "high": 4.0, "pairs": 2, "higher": 1}


def in_this_process(arguments: Sequence[str]) -> None:
    importlib.import_module(arguments[0]).main(list(arguments[1:]))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs without processes of their own, which take seconds to start."""

    def train(run: Run, **_: Any) -> None:
        words = [run.module, "--run-dir", str(run.folder), *run.flags]
        in_this_process([*words, "--timesteps", str(run.steps)])

    monkeypatch.setattr(ppo2_learning, "train", train)
    monkeypatch.setattr(ppo2_learning, "REFERENCES", ("random",))
    monkeypatch.setattr(ppo2_learning, "run_logged", lambda words, log, **_: in_this_process(words))


def call(out: Path, *only: Part, more: Sequence[str] = ()) -> None:
    small = "--preset fast --rollout-steps 32 --episode-steps 30 --torch-threads 1"
    ppo2_learning.main([
        "--out", str(out), "--jobs", "1", "--seeds", "1", "--only", *only,
        "--train-levels", f"{GAME}:BrambleWood.Act1", "--levels", f"{GAME}:BrambleWood.Act3",
        "--pretrain-steps", "128", "--play-steps", "96", "--frozen-steps", "40",
        f"--pretrain-flags={small} --num-envs 2", f"--adapt-flags={small} --num-envs 1",
        *more,
    ])  # fmt: skip


def test_tiny_run_makes_tables_curves_and_goes_on(
    tmp_path: Path, quick: None, capsys: pytest.CaptureFixture[str]
) -> None:
    call(tmp_path, "joint", "frozen", "adapt")
    text = capsys.readouterr().out
    assert "| joint-draws (1 of 1) |" in text and "| joint − scratch |" in text
    assert "serial-draws" not in text
    result = json.loads((tmp_path / "result.json").read_text())
    del result["config"]
    assert result["pretraining"]["joint"]["steps"] == 128
    assert set(result["adapt"]["runs"]) == {"scratch", "joint", "sb3-scratch"}
    assert (tmp_path / "curves.png").is_file()
    call(tmp_path)
    again = capsys.readouterr().out
    assert again.startswith("0 to do")
    assert result.items() <= json.loads((tmp_path / "result.json").read_text()).items()
    other = LearningConfig(out=tmp_path, pretrain_steps=128, frozen_steps=50, seeds=1)
    with pytest.raises(UserError, match=r"joint-draws-0\.json was made with .*--steps 40"):
        ppo2_learning_report.collect(other, "frozen")


def test_runs_of_an_earlier_result_count_and_are_not_made_again(
    tmp_path: Path, quick: None, capsys: pytest.CaptureFixture[str]
) -> None:
    call(tmp_path / "a", "joint", "frozen", "adapt")
    earlier = json.loads((tmp_path / "a" / "result.json").read_text())
    capsys.readouterr()
    more = ["--earlier", str(tmp_path / "a" / "result.json")]
    call(tmp_path / "b", "adapt", "frozen", more=[*more, "--seeds", "2"])
    done = [line for line in capsys.readouterr().out.splitlines() if line.startswith("done")]
    adapted = [f"done: adapt BrambleWood.Act3 {kind} seed 1" for kind in ("scratch", "sb3-scratch")]
    assert done == ["done: frozen random seed 1", *adapted]
    found = json.loads((tmp_path / "b" / "result.json").read_text())
    assert found["pretraining"] == earlier["pretraining"]
    assert found["frozen"]["runs"]["joint-draws"] == earlier["frozen"]["runs"]["joint-draws"]
    before, now = (result["adapt"]["rows"][0] for result in (earlier, found))
    new = read_episodes(tmp_path / "b" / "adapt" / "BrambleWood.Act3" / "scratch-1")
    assert now["episodes"] - before["episodes"] == len(new)
    assert now["steps"] - before["steps"] == sum(episode.l for episode in new)
    assert now["label"] == "scratch (2 of 2)"
    means = [before["mean"], sum(episode.r for episode in new) / len(new)]
    assert now["mean"] == pytest.approx(sum(means) / 2)


def test_an_earlier_result_counts_with_the_same_settings_only(tmp_path: Path) -> None:
    stored = RESULTS / "ppo2_learning.json"
    config = LearningConfig(out=tmp_path, frozen_steps=5_000, earlier=stored, only=("ablation",))
    assert (1, "SnowRidge.Act5") in ppo2_learning_report.collect(config, "ablation")["plain"]
    config = dataclasses.replace(config, seeds=9)
    seeds = {task.name.split()[-1] for task in ppo2_learning.tasks_of(config)}
    assert seeds >= {"8"} and seeds.isdisjoint({"0", "1"})
    with pytest.raises(UserError, match=r"other settings \(play_steps\)"):
        ppo2_learning.earlier_of(dataclasses.replace(config, play_steps=10))
    with pytest.raises(UserError, match="no result of this benchmark"):
        ppo2_learning.earlier_of(dataclasses.replace(config, earlier=RESULTS / "env.json"))
