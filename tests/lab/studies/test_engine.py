"""The engine's searches are those of training and of the contest, episode for episode."""

from collections.abc import Callable
from pathlib import Path

import pytest

from jerk.train import main as train
from lab.studies.contest import main as contest
from lab.studies.engine import main as search
from lab.studies.play import main as play
from lab.studies.sight import main as sight
from retro_agents.run.metrics import read_columns

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


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--resume"], "resume is True"),
        (["--init", "runs/jerk"], "init is 'runs/jerk'"),
        (["--num-envs", "4"], "num_envs is 4, and the engine plays with 1 alone"),
        (["--frame-skip", "2"], "frame_skip is 2"),
        (["--stick-probability", "0"], "stick_probability is 0.0"),
        (["--backtracking"], "backtracking is True"),
        (["--record"], "record is True"),
        (["--scenario", "scenario"], "scenario is 'scenario'"),
        (["--policy", "ppo2"], "policy is 'ppo2'"),
        (["--video-every", "1000"], "video_every is 1000"),
        (["--track", "wandb"], "track is 'wandb'"),
    ],
)
def test_what_the_engine_does_not_do_is_refused(
    flags: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--preset", "recovering", "--levels", "BrambleWood.Act1", *flags]
    with pytest.raises(SystemExit):
        search([*words, "--run-dir", str(tmp_path / "run")])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("main", "flags"),
    [
        (search, ["--preset", "baseline"]),
        (play, ["--agent", "random"]),
        (sight, ["--agent", "ppo2"]),
    ],
)
def test_a_run_that_is_there_is_not_overwritten(
    main: Callable[[list[str]], None],
    flags: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "episodes.csv").write_text("mine")
    with pytest.raises(SystemExit):
        main([*flags, "--levels", "BrambleWood.Act1", "--run-dir", str(tmp_path)])
    assert "already holds a run; give another --run-dir" in capsys.readouterr().err
    assert (tmp_path / "episodes.csv").read_text() == "mine"
