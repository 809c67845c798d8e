"""`retro-agents new-agent`: the package that it writes works at once."""

import compileall
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import numpy as np

from retro_agents import new_agent
from retro_agents.new_agent import main
from tests.runs import ROOT


def test_a_new_agent_trains_resumes_and_is_scored(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["red_fox"])
    assert "retro-agents train red_fox" in capsys.readouterr().out
    installed = tmp_path / "red_fox" / "red_fox-0.1.0.dist-info"  # as pip does
    installed.mkdir()
    project = tomllib.loads((tmp_path / "red_fox" / "pyproject.toml").read_text())["project"]
    (group, names), *_ = project["entry-points"].items()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: red_fox\nVersion: 0.1.0\n")
    lines = [f"[{group}]", *(f"{name} = {package}" for name, package in names.items())]
    (installed / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'red_fox'}:{ROOT}")

    def asked(*words):
        command = [sys.executable, "-m", *map(str, words)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    def said(*words):
        done = asked(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    run = ["red_fox.train", "--levels", "BrambleWood.Act1", "--run-dir", "mine", "--num-envs", "2"]
    said(*run, "--timesteps", "200", "--checkpoint-every", "100")
    own = [*run[:-4], "--num-envs", "2"]
    for words, error in (
        (["--init", "ppo2"], "not of red_fox"),
        (["--init", "mine", "--actions", "10"], "mine has 7 actions"),
    ):
        done = asked(*own, "--run-dir", "other", *words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and error in done.stderr
    assert "300/300 steps" in said(*run[:1], "--run-dir", "mine", "--resume", "--timesteps", "300")
    assert "red_fox" in said("retro_agents", "list", "agents")
    said("retro_agents", "evaluate", "mine", "--levels", "SnowRidge.Act4", "--out", "scores")
    assert (tmp_path / "scores" / "result.json").is_file()


def test_its_agent_acts_on_one_image_too(trained):
    obs = np.zeros((2, 4, 36, 36), np.uint8)
    agent, _ = trained("tally")
    assert agent.act(obs).shape == (2,) and agent.act(obs[0]).shape == ()


def test_what_pip_compiled_of_the_template_is_left_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(new_agent.TEMPLATE, "template")
    compileall.compile_dir("template", quiet=1)
    monkeypatch.setattr(new_agent, "TEMPLATE", Path("template"))
    main(["fox"])
    assert Path("fox/fox/agent.py").is_file() and not [*Path("fox").rglob("*.pyc")]


def test_a_folder_of_its_name_does_not_hide_what_pip_installed_for_editing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["red_fox"])
    build = "from setuptools.build_meta import build_editable; build_editable('..')"
    subprocess.run([sys.executable, "-c", build], cwd="red_fox", check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    ZipFile(wheel).extractall("site")
    look = "import site, sys; site.addsitedir(sys.argv[1]); import red_fox; assert red_fox.__file__"
    subprocess.run([sys.executable, "-c", look, tmp_path / "site"], check=True)


def test_any_name_makes_code_that_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["reward"])
    text = (tmp_path / "reward/reward/training.py").read_text()
    assert "reward[" not in text and "for action, reward in zip" in text
