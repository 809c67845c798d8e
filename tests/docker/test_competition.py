"""docker-build/run.sh, with a stand-in for Python that trains nothing."""

import os
import signal
import subprocess
import sys

import pytest

from retro_agents.run.folder import RunFolder, alone_in
from tests.runs import ROOT, program, soon

RUN = ROOT / "docker-build" / "run.sh"


@pytest.fixture
def called(tmp_path):
    """Calls run.sh with a stand-in for Python, which tells its arguments and then does `script`."""

    def call(*arguments, script="", **variables):
        python = program(tmp_path / "python", f'#!/usr/bin/env bash\necho "$@"\n{script}\n')
        return subprocess.run(
            ["bash", str(RUN), *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={"PATH": "/usr/bin:/bin", "PYTHON": str(python), **variables},
        )

    return call


def test_train_begins_with_the_preset_and_the_contests_steps(called, tmp_path):
    """It runs in the folder of the caller, and fails if the trainer fails."""
    done = called("--train", "--levels", "procgen:bigfish", RAY_CPUS="8")
    preset = ROOT / "ppo2/presets/procgen-competition.yaml"
    assert called("--train", script="pwd").stdout.split()[-1] == str(tmp_path)
    assert done.returncode == 0 and called("--train", script="exit 2").returncode == 2
    assert done.stdout.split() == [
        *("-m", "ppo2.train", "--config", str(preset)),
        *("--run-dir", str(tmp_path / "outputs"), "--torch-threads", "8"),
        *("--levels", "procgen:bigfish"),
    ]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("gamma: 0.99\n", ["--timesteps", "8000000"]),
        ("# timesteps: 5\n", ["--timesteps", "8000000"]),
        ("timesteps: 1000\n", []),
        ('{"timesteps": 1000}', []),
    ],
)
def test_an_experiments_own_steps_count(called, tmp_path, text, steps):
    (tmp_path / "mine.yaml").write_text(text)
    words = called("--train", EXPERIMENT="mine.yaml").stdout.split()
    assert words[4 : words.index("--run-dir")] == steps


def test_train_goes_on_with_a_run_that_is_there(called, tmp_path):
    (tmp_path / "th[e]re/checkpoints/step-000250000").mkdir(parents=True)
    done = called("--train", OUTPUTS_DIR="th[e]re", EXPERIMENT="mine.yaml")
    assert done.stdout.split()[:5] == [
        *("-m", "ppo2.train", "--resume", "--run-dir", str(tmp_path / "th[e]re"))
    ]


def test_what_was_stopped_before_its_first_checkpoint_is_put_aside(called, tmp_path):
    folder = tmp_path / "outputs"
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "config.json").touch()
    done = called("--train")
    assert done.returncode == 0 and "--config" in done.stdout and "--resume" not in done.stdout
    (aside,) = (folder / "stopped").iterdir()
    RunFolder(folder).check_free()  # which the trainer asks
    assert sorted(path.name for path in aside.iterdir()) == ["checkpoints", "config.json"]


def test_a_run_that_has_saved_nothing_yet_is_not_put_aside(called, tmp_path):
    folder = tmp_path / "outputs"
    folder.mkdir()
    (folder / "config.json").touch()
    with alone_in(folder):
        done = called("--train")
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.count("\n") == 1
    assert "another training writes to" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["config.json"]


def test_train_says_its_throughput_over_all_parts_of_a_run(called, tmp_path):
    rows = "step,seconds\\n100,10\\n200,20\\n300,5\\n400,10\\n"
    folder = tmp_path / "outputs"
    done = called("--train", script=f"mkdir {folder}\nprintf '{rows}' > {folder}/timing.csv")
    assert "400 steps in 30 seconds, 13.3 steps/s" in done.stdout


def test_train_is_interrupted_in_time_to_save(called, tmp_path):
    script = f"trap 'echo saved > {tmp_path}/saved; exit 130' INT\nwhile true; do sleep 0.05; done"
    done = called("--train", script=script, SECONDS_LIMIT="124")
    assert done.returncode == 0 and "the time is up" in done.stderr
    assert (tmp_path / "saved").read_text() == "saved\n"


TOLD = """
import os, pathlib, signal, sys, time
told = pathlib.Path("told").open("a", buffering=1)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: told.write("once\\n"))
pathlib.Path("group").write_text(str(os.getpgid(0)))
pathlib.Path("began").touch()
while not told.tell():
    time.sleep(0.01)
time.sleep(0.3)
sys.exit(130)
"""
"""A stand-in for Python, which ends when it was told to and says how often."""


@pytest.mark.parametrize("tell", [os.kill, os.killpg], ids=["docker stop", "Ctrl-C"])
def test_a_trainer_is_told_once_where_the_script_is_ended(tmp_path, tell):
    """docker stop tells PID 1 alone, Ctrl-C a whole terminal; told twice, a run saves nothing."""
    python = program(tmp_path / "python", f"#!{sys.executable}\n{TOLD}")
    run = subprocess.Popen(
        ["bash", str(RUN), "--train"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHON": str(python)},
        start_new_session=True,
    )
    try:
        assert soon((tmp_path / "began").exists)
        # Else it would have a Ctrl-C from the terminal too, though not always in time to count.
        assert (tmp_path / "group").read_text() != str(run.pid)
        tell(run.pid, signal.SIGTERM if tell is os.kill else signal.SIGINT)
        assert run.wait(20) == 130 and (tmp_path / "told").read_text() == "once\n"
    finally:
        run.kill()


def test_rollout_plays_the_run_or_the_checkpoint_that_is_named(called, tmp_path):
    words = ["-m", "retro_agents.judging.procgen"]
    assert called("--rollout").stdout.split() == [*words, f"{tmp_path}/outputs", "--episodes", "5"]
    done = called("--rollout", "--video", CHECKPOINT="/there", EPISODES="7")
    assert done.stdout.split() == [*words, "/there", "--episodes", "7", "--video"]


def test_mistakes_are_one_line(called):
    for done, text in [
        (called(), "say what to do"),
        (called("--trian"), "say what to do"),
        (called("--train", AICROWD_IS_GRADING="true"), "a grader gives OUTPUTS_DIR"),
        (called("--train", SECONDS_LIMIT="2h"), "SECONDS_LIMIT=2h"),
        (called("--train", SECONDS_LIMIT="120"), "more than 120"),
        (called("--train", SECONDS_LIMIT="0900"), "SECONDS_LIMIT=0900"),
    ]:
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("error: ") and text in done.stderr
        assert done.stderr.count("\n") == 1
