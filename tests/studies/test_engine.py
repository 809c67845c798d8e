"""The engine's searches are those of training and of the contest, episode for episode."""

from pathlib import Path

import pytest

from experiment.metrics import read_columns
from jerk.train import main as train
from studies.contest import main as contest
from studies.engine import main as search

COLUMNS = ("step", "kind", "r", "l", "finished")


@pytest.mark.parametrize("preset", ["baseline", "mutating", "recovering"])
def test_episodes_equal_those_of_training(preset: str, tmp_path: Path) -> None:
    words = ["--preset", preset, "--levels", "BrambleWood.Act1", "--timesteps", "6000"]
    words += ["--seed", "3"]
    train([*words, "--run-dir", str(tmp_path / "trained")])
    search([*words, "--run-dir", str(tmp_path / "searched")])
    trained, searched = (
        read_columns(tmp_path / name / "episodes.csv") for name in ("trained", "searched")
    )
    assert len(trained["r"]) > 5 and set(trained["kind"]) > {"replay"}
    for name in COLUMNS:
        assert trained[name].tolist() == searched[name].tolist(), name


@pytest.mark.slow
def test_episodes_equal_those_of_the_contest(tmp_path: Path) -> None:
    preset = ["--preset", "recovering"]
    words = ["--levels", "ThornKeep.Act1", "--timesteps", "2000", "--seed", "3"]
    contest([*words, "--run-dir", str(tmp_path / "played"), "--", *preset])
    search([*words, *preset, "--run-dir", str(tmp_path / "searched")])
    played, searched = (
        read_columns(tmp_path / name / "episodes.csv") for name in ("played", "searched")
    )
    assert len(played["r"]) > 3
    for name in COLUMNS:
        assert played[name].tolist() == searched[name].tolist(), name
