"""`retro-agents new-agent`: the package that it writes works at once."""

import compileall
import importlib
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

from retro_agents import new_agent
from retro_agents.judging.list import lines as listed
from retro_agents.new_agent import main
from retro_agents.run.agents import GROUP
from tests.runs import ROOT, register


def test_a_new_agent_trains_resumes_and_is_scored(tmp_path, monkeypatch, capsys, refused):
    monkeypatch.chdir(tmp_path)
    main(["red_fox"])
    assert "retro-agents train red_fox" in capsys.readouterr().out
    project = tomllib.loads((tmp_path / "red_fox" / "pyproject.toml").read_text())["project"]
    assert project["entry-points"] == {GROUP: {"red_fox": "red_fox"}}
    register(tmp_path / "red_fox", "red_fox")
    monkeypatch.syspath_prepend(tmp_path / "red_fox")
    train = importlib.import_module("red_fox.train").main
    own = ["--levels", "BrambleWood.Act1", "--num-envs", "2", "--run-dir"]
    train([*own, "mine", "--timesteps", "200", "--checkpoint-every", "100"])
    for words, error in (
        (["--init", "ppo2"], "not of red_fox"),
        (["--init", "mine", "--actions", "10"], "mine has 7 actions"),
    ):
        assert error in refused(train, [*own, "other", *words])
    train(["--run-dir", "mine", "--resume", "--timesteps", "300"])
    assert "300/300 steps" in capsys.readouterr().err
    assert any(line.startswith("red_fox ") for line in listed("agents", ""))
    for name in [name for name in sys.modules if name.startswith("red_fox")]:
        del sys.modules[name]
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'red_fox'}:{ROOT}")
    evaluate = ["evaluate", "mine", "--levels", "SnowRidge.Act4", "--out", "scores"]
    subprocess.run([sys.executable, "-m", "retro_agents", *evaluate], cwd=tmp_path, check=True)
    assert (tmp_path / "scores" / "result.json").is_file()


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


def test_an_installed_agent_whose_folder_is_gone_can_be_begun_anew(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    register(tmp_path / "site", "grey_fox")
    monkeypatch.syspath_prepend(tmp_path / "site")
    main(["grey_fox"])
    assert Path("grey_fox/pyproject.toml").is_file()


def test_any_name_makes_code_that_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["reward"])
    text = (tmp_path / "reward/reward/training.py").read_text()
    assert "reward[" not in text and "for action, reward in zip" in text
