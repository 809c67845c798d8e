"""The engine's searches are those of the agent's own trainer, episode for episode."""

from pathlib import Path

import pytest

from experiment.metrics import read_columns
from jerk.train import main as train
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
