import json
import subprocess
import sys
from pathlib import Path

import cv2
import pytest
from rich.console import Console

from scripts.demo import DemoConfig, prepare

ROOT = Path(__file__).resolve().parents[2]


def demo(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "demo.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--runs", "{file}/runs"], "cannot write"),
        (["--level", "BrambleDash-Genesis-v0:Nowhere.Act1", "--runs", "{folder}"], "no state"),
        (["--train-levels", "bramble-trai", "--runs", "{folder}"], "bramble-train"),
        (["--train-levels", "Airstriker-Genesis-v0:Level1", "--runs", "{folder}"], "no scenario"),
        (["--level", "Airstriker-Genesis-v0:Level1", "--runs", "{folder}"], "no scenario"),
        (["--rainbow-preset", "laptp", "--runs", "{folder}"], "did you mean 'laptop'?"),
        (["--play-step", "3"], "did you mean '--play-steps'?"),
        (["--play-steps", "0"], "play_steps"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], says: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    places = {"file": tmp_path / "file", "folder": tmp_path / "runs"}
    done = demo(*[argument.format(**places) for argument in arguments])
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
    assert not (tmp_path / "runs").exists()


def test_what_is_given_wins_over_quick_budgets(tmp_path: Path) -> None:
    file = tmp_path / "demo.yaml"
    file.write_text("play_steps: 12000\n")
    words = ["--quick", "--pretrain-steps", "60000", "--config", str(file)]
    config = prepare([*words, "--runs", str(tmp_path)], Console()).config
    assert config.pretrain_steps == DemoConfig().pretrain_steps == 60_000
    assert config.play_steps == DemoConfig().play_steps == 12_000
    assert (config.num_envs, config.rotate_every) == (2, 250)


@pytest.mark.slow
def test_a_tiny_demo_makes_all_its_files_and_keeps_earlier_ones(tmp_path: Path) -> None:
    (tmp_path / "demo-001").mkdir()
    (tmp_path / "demo-001" / "result.json").write_text("mine")
    steps = ["--pretrain-steps", "600", "--play-steps", "600"]
    done = demo("--quick", "--runs", str(tmp_path), *steps)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "demo-002"
    assert (tmp_path / "demo-001" / "result.json").read_text() == "mine"
    result = json.loads((folder / "result.json").read_text())
    labels = ["random", "hold-right", "scratch", "pretrained"]
    assert [row["label"] for row in result["scores"]] == labels
    assert all(row["steps"] == 600 for row in result["scores"])
    assert all(label in done.stdout for label in labels)
    assert str(folder / "result.json") in done.stdout
    film = cv2.VideoCapture(str(folder / "pretrained.mp4"))
    assert film.get(cv2.CAP_PROP_FRAME_COUNT) > 10
