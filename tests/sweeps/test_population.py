"""What a population does to its runs, and one on Ray itself."""

from pathlib import Path

import pytest

from experiment.errors import UserError
from sweeps.config import SweepConfig
from sweeps.population import begin, clamped, read_ranges


def population(*ranges: str, **fields) -> SweepConfig:
    return SweepConfig(agent="toy", pbt=ranges, engine="ray", **fields)


def test_new_values_stay_in_their_ranges():
    ranges = {"gamma": (0.9, 0.999), "rate": (1e-5, 1e-3)}
    assert clamped({"gamma": 1.188, "rate": 1e-6}, ranges) == {"gamma": 0.999, "rate": 1e-5}
    assert clamped({"gamma": 0.95, "rate": 1e-4}, ranges) == {"gamma": 0.95, "rate": 1e-4}


def test_ranges_are_read_and_kept_to_what_the_config_declares():
    assert read_ranges(population("gamma=0.9:0.999", "hidden=4:64")) == {
        "gamma": (0.9, 0.999),
        "hidden": (4.0, 64.0),
    }
    for word, said in (
        ("gamma=0.9:1.2", "gamma"),  # a share
        ("gamma=0.9", "LOW:HIGH"),
        ("gamma=0.9:0.8", "LOW:HIGH"),
        ("gama=0:1", "gamma"),
        ("seed=0:9", "itself"),
    ):
        with pytest.raises(UserError, match=said):
            read_ranges(population(word))


def test_a_run_takes_over_another_ones_checkpoint_whole(tmp_path):
    run_dir, better = tmp_path / "run", tmp_path / "better"
    for folder, weights in ((run_dir, "worse"), (better, "better")):
        (folder / "checkpoints").mkdir(parents=True)
        (folder / "checkpoints" / f"step-{weights}").write_text(weights)

    class Given:
        def to_directory(self, path: str) -> None:
            (Path(path) / "checkpoints").mkdir(parents=True)
            (Path(path) / "checkpoints/step-better").write_text("better")

    assert begin(run_dir, Given())
    assert [path.name for path in (run_dir / "checkpoints").iterdir()] == ["step-better"]
    assert not begin(run_dir, None) and not run_dir.exists()
