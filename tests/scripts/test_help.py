"""The console command: what it says of itself, how fast it can, and what a shell completes."""

import os
import pty
import re
import shutil
import subprocess
import sys
from contextlib import suppress

import pytest

from retro_agents.command import COMMANDS
from retro_agents.run.agents import AGENTS
from tests.runs import ROOT, in_python, program

EVERY = [*(name for name in COMMANDS if name != "train"), *(f"train {agent}" for agent in AGENTS)]
HELP = """
import sys
from retro_agents.command import main

for words in [[], ["--help"], ["contest"], ["train"], *map(str.split, sys.argv[1:])]:
    try:
        main([*words, "--help"] if len(words) else words)
    except SystemExit as stop:
        assert not stop.code, words
    slow = {"torch", "cv2", "numba", "stable_retro", "scipy", "matplotlib"} & sys.modules.keys()
    assert not slow, f"{words} imports {slow}"
"""


def test_help_comes_in_groups_and_without_what_is_slow_to_import():
    done = in_python(HELP, *EVERY)
    assert (done.returncode, done.stderr) == (0, "")
    for name, text in zip(EVERY, done.stdout.split("usage: ")[5:], strict=True):
        assert text.startswith(f"retro-agents {name} ")
        assert name != "plot" or "(default: curve.png)" in " ".join(text.split())
        if name.startswith("train "):
            titles = [line for line in text.splitlines() if re.fullmatch(r"\S.*:", line)]
            assert titles[:2] == ["options:", "Most used:"] and len(titles) >= 8
            assert titles[titles.index("The environment:") + 1 :] in ([], ["The machine:"])
            most_used = text.partition("Most used:")[2].partition("\n\n")[0]
            assert 10 <= most_used.count("\n  --") <= 12 and "--preset" in most_used


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("retro-agents ev", ["evaluate"]),
        ("retro-agents contest ", ["run", "report", "serve", "play"]),
        ("retro-agents evaluate --epi", ["--episodes"]),
        ("retro-agents contest serve --wall", ["--wall-clock"]),
        ("retro-agents contest run --levels bramble-te", ["bramble-test"]),
        ("retro-agents train im", ["impala"]),
        ("retro-agents train rainbow --preset lap", ["laptop"]),
        ("python -m rainbow.train --encoder d", ["data-efficient"]),
    ],
)
def test_a_shell_completes_a_word(line, expected, tmp_path):
    program = line.split()[2 if line.startswith("python") else 0].replace("-", "_")
    answer, place = tmp_path / "answer", "3" if line.startswith("python") else "1"
    asked = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE": place}
    asked |= {"_ARGCOMPLETE_STDOUT_FILENAME": str(answer), "_ARGCOMPLETE_IFS": "\n"}
    command = [sys.executable, "-m", program]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **asked}, check=True)
    assert [word.strip() for word in answer.read_text().split("\n")] == expected


@pytest.mark.parametrize("script", ["test", "check", "demo", "docs", "gpu", "install"])
def test_a_scripts_help_installs_nothing(script, tmp_path):
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    command = [f"{tmp_path.name}/scripts/{script}", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path.parent)
    assert done.returncode == 0 and len(done.stdout) > 20 and not done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"scripts"}


def test_the_gpus_script_hands_its_flags_on(tmp_path):
    shutil.copytree(ROOT / "scripts", tmp_path / "there" / "scripts")
    program(tmp_path / "python3", '#!/bin/sh\necho "$@" >>calls\n')
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def run(*words):
        command = ["there/scripts/gpu", *words]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env)

    assert run("out", "--levels", "bramble-train").returncode == 0
    assert run("out", "5", "--seed", "1").returncode == 0
    speed, train, _, _, again, _ = (tmp_path / "there" / "calls").read_text().splitlines()
    assert f"--out {tmp_path}/out/speed.json" in speed
    assert train.endswith(f"--run-dir {tmp_path}/out/run --levels bramble-train")
    assert again.endswith("--seed 1")
    assert run().returncode == run("--levels").returncode == 2
    (tmp_path / "out" / "run").mkdir(parents=True)
    done = run("out")
    said = "error: out/run is there already; give another FOLDER\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_an_interrupted_run_on_a_gpu_ends_and_hands_its_weights_over(tmp_path):
    """At a terminal, where the key signals the processes in its foreground."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    trains = "(: </dev/tty) 2>/dev/null || echo apart; trap 'echo stopped; kill $!; exit 130' INT"
    trains += "; echo trains; sleep 30 & wait"
    text = f'#!/bin/sh\ncase "$2" in ppo2.train) {trains} ;; esac\necho "python $1"\n'
    program(tmp_path / "python3", text)
    child, terminal = pty.fork()
    if not child:
        os.environ["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
        os.execv("/bin/bash", ["bash", str(tmp_path / "scripts" / "gpu"), str(tmp_path / "out")])
    said = b""
    with suppress(OSError):  # Linux's way to say that the other side is closed
        while piece := os.read(terminal, 1024):
            said += piece
            if piece.strip().endswith(b"trains"):
                os.write(terminal, b"\x03")
    os.close(terminal)
    assert os.waitpid(child, 0)[1] == 0
    assert b"stopped" in said and b"python -\r\n" in said.partition(b"stopped")[2]
    assert b"apart" in said  # else the key signals it too, and a second signal ends it at once


@pytest.mark.parametrize(("trains", "exits"), [("sleep 30 & wait", 143), ("exit 3", 3)])
def test_a_run_on_a_gpu_that_fails_or_is_to_end_hands_its_weights_over(tmp_path, trains, exits):
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    trains = f"trap 'kill $!; echo stopped; exit 130' INT; echo trains; {trains}"
    text = f'#!/bin/sh\ncase "$2" in ppo2.train) {trains} ;; esac\necho "python $1"\n'
    program(tmp_path / "python3", text)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    words = [tmp_path / "scripts" / "gpu", tmp_path / "out"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env) as running:
        said = iter(running.stdout)
        assert next(said) == "python -m\n" and next(said) == "trains\n"
        if trains.endswith("wait"):
            running.terminate()
            assert next(said) == "stopped\n"
        assert next(said) == "python -\n"
    assert running.returncode == exits and not (tmp_path / "out").exists()  # nothing is in it


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is missing")
def test_the_page_says_why_npm_could_not_install(tmp_path):
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "web").mkdir()
    for name in ("package.json", "package-lock.json"):
        (tmp_path / "web" / name).write_text("{")
    done = subprocess.run([tmp_path / "scripts" / "web"], capture_output=True, text=True)
    if "Node 20" in done.stderr:
        pytest.skip("Node is older than 20")
    assert done.returncode == 2 and "EUSAGE" in done.stderr
    assert "could not install" in done.stderr.splitlines()[-1]


def test_the_demos_help_leaves_an_old_or_incomplete_environment_alone(tmp_path):
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    python = program(tmp_path / ".venv/bin/python", '#!/bin/sh\necho python "$@"\n')
    command = [tmp_path / "scripts" / "demo", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "python scripts/demo.py --help\n")
    # Of an installation that was interrupted: it has our package, and lacks what that needs.
    python.write_text('#!/bin/sh\n[ "$1" = -c ] && exit\necho Traceback >&2\nexit 1\n')
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "") and "--quick" in done.stdout
