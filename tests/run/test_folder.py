import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import pytest

from retro_agents.ground import files
from retro_agents.ground.errors import Signalled, UserError
from retro_agents.ground.files import write_json
from retro_agents.run import folder
from retro_agents.run.checkpoint import latest_checkpoint
from retro_agents.run.folder import (
    RunFolder,
    alone_in,
    alone_on_all_hosts,
    claimed,
    interruptible,
    numbered_folder,
    reports,
)
from retro_agents.run.settings import RunSettings
from tests.runs import ROOT


@dataclasses.dataclass(frozen=True)
class Config:
    steps: int = 3


@dataclasses.dataclass(frozen=True)
class Begun:
    run: RunSettings = RunSettings()


def config_of(run):
    return json.loads((run.path / "config.json").read_text())


def test_create_writes_the_config_and_the_folders(tmp_path):
    run = RunFolder.create(tmp_path / "a" / "b", Config(steps=7))
    assert config_of(run) == {"steps": 7}
    assert run.checkpoints.is_dir()
    assert config_of(RunFolder.open(run.path)) == {"steps": 7}
    run.write_config({"run": {"steps": 2, "resume": True}})  # of a run that is resumed
    assert config_of(run) == {"run": {"steps": 2, "resume": False}}
    assert [path.name for path in run.path.iterdir() if path.is_file()] == ["config.json"]


def test_a_run_is_never_overwritten(tmp_path):
    RunFolder.create(tmp_path / "a", {"x": 1})
    with pytest.raises(UserError, match=r"already holds a run.* saved no checkpoint"):
        RunFolder.create(tmp_path / "a", {"x": 2})
    with pytest.raises(UserError, match="saved no checkpoint"):
        latest_checkpoint(tmp_path / "a")
    write_json(tmp_path / "a/checkpoints/step-000000010/meta.json", {})
    with pytest.raises(UserError, match=r"already holds a run.* resume it: --resume"):
        RunFolder.create(tmp_path / "a", {"x": 2})
    assert config_of(RunFolder.open(tmp_path / "a")) == {"x": 1}
    with pytest.raises(UserError, match="already holds other runs; give another --run-dir"):
        RunFolder.create(tmp_path, {"x": 2})
    write_json(tmp_path / "judged/result.json", {})
    with pytest.raises(UserError, match="already holds an evaluation; give another --run-dir"):
        RunFolder.create(tmp_path / "judged", {"x": 2})


def test_a_run_that_saves_while_one_waits_for_it_is_not_to_be_deleted(tmp_path, monkeypatch):
    run = RunFolder.create(tmp_path, Begun())

    @contextmanager
    def saves_and_ends(_):
        write_json(run.checkpoints / "step-000000010/meta.json", {})
        yield

    monkeypatch.setattr(folder, "alone_in", saves_and_ends)
    with pytest.raises(UserError, match=r"already holds a run.* resume it: --resume"):
        run.check_free()
    (run.checkpoints / "step-000000010/meta.json").unlink()
    with pytest.raises(UserError, match=r"already holds a run.* or repeat the command"):
        run.check_free(anew=True)


@pytest.mark.parametrize("begun", [False, True])
def test_who_is_not_alone_in_a_folder_writes_nothing(begun, tmp_path, monkeypatch):
    """Nor is told to delete a run that has saved nothing yet."""
    monkeypatch.setattr(files, "PATIENCE", 0.0)
    if begun:
        RunFolder.create(tmp_path, Begun())
        (tmp_path / "metrics.csv").write_text("step,loss\n5,1\n150,1\n")
    config = Begun(RunSettings(resume=begun))
    run = partial(reports, config=config, name="ppo2", env_steps=100 * begun)
    create = partial(RunFolder.create, config=config)
    again = partial(run, config=Begun(RunSettings(auto_resume=True)))
    others = [run, again, create] if begun else [alone_in, claimed, run, again]
    holder = run if begun else alone_in
    with holder(tmp_path):
        before = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
        for other in others:
            with pytest.raises(UserError, match="another process writes to"), other(tmp_path):
                raise AssertionError("both are in")
        left = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    assert left == before


@pytest.mark.parametrize("begun", [False, True])
def test_who_is_not_alone_on_all_hosts_writes_nothing(begun, tmp_path, monkeypatch):
    """Where another host's lock of the folder itself is not seen."""
    monkeypatch.setattr(files, "PATIENCE", 0.0)
    if begun:
        RunFolder.create(tmp_path, Begun())
    with alone_on_all_hosts(tmp_path):
        before = {*tmp_path.rglob("*")}
        for settings in ({"resume": begun}, {"auto_resume": True}, {}):
            config, busy = Begun(RunSettings(**settings)), "another process writes to"
            with pytest.raises(UserError, match=busy):
                reports(tmp_path, config, "ppo2", env_steps=0).__enter__()
        assert {*tmp_path.rglob("*")} == before


def test_a_run_is_not_gone_on_with_behind_its_newest_checkpoint(tmp_path):
    run, saved = RunFolder(tmp_path), tmp_path / "checkpoints" / "step-000000200"
    run.check_newest(0)
    saved.mkdir(parents=True)
    (saved / "meta.json").touch()
    run.check_newest(200)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "metrics.csv").write_text("step,loss\n150,1\n")
    config = Begun(RunSettings(resume=True))
    refused = pytest.raises(UserError, match="has reached step 200 meanwhile")
    with refused, reports(tmp_path, config, "ppo2", env_steps=100):
        raise AssertionError("it goes on")
    assert (tmp_path / "metrics.csv").read_text() == "step,loss\n150,1\n"


def test_open_needs_a_run_and_create_a_writable_place(tmp_path):
    with pytest.raises(UserError, match="not a run folder"):
        RunFolder.open(tmp_path)
    (tmp_path / "meta.json").touch()
    below = tmp_path / "meta.json" / "run"  # where root cannot make a folder either
    for make in (lambda: RunFolder.create(below, Config()), lambda: numbered_folder(below, "demo")):
        with pytest.raises(UserError, match=r"cannot write .* give a writable place"):
            make()


def test_an_interrupt_says_how_a_run_with_a_checkpoint_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", [f"{ROOT}/ppo2/train.py"])  # which commands replace

    def said():
        with pytest.raises(KeyboardInterrupt) as stop, interruptible(tmp_path):
            raise KeyboardInterrupt
        return stop.value.args

    assert said() == ()
    write_json(tmp_path / "checkpoints" / "step-000000010" / "meta.json", {})
    again = f"python -m ppo2.train --run-dir {tmp_path} --resume"
    assert said() == (f"{again} continues from the last checkpoint",)


def test_a_terminal_that_is_closed_signals_twice_and_a_checkpoint_is_saved(tmp_path):
    went_on = False
    with pytest.raises(Signalled) as stop, interruptible(tmp_path) as interrupted:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGHUP)
        went_on = interrupted()
    assert went_on and stop.value.number == signal.SIGHUP


WRITES = """
import sys
from retro_agents.run.folder import interruptible
with interruptible(".") as interrupted:
    print("here", flush=True)
    print("a long line" * 100_000, file=sys.stderr)
    print("a checkpoint is saved" if interrupted() else "no signal came", flush=True)
"""


def test_a_checkpoint_is_saved_if_a_signal_comes_while_nobody_reads_what_is_written():
    """As in `… 2>&1 | less`: the message cannot be written, because a line is being written."""
    buffered = {name: v for name, v in os.environ.items() if name != "PYTHONUNBUFFERED"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    argv = [sys.executable, "-c", WRITES]
    with subprocess.Popen(argv, cwd=ROOT, env=buffered, text=True, **pipes) as run:
        assert run.stdout.readline() == "here\n"
        time.sleep(1.0)  # until the pipe is full
        run.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert "a checkpoint is saved" in run.communicate()[0]


def test_numbered_folders_count_up_and_of_many_at_once_are_all_different(tmp_path):
    names = [numbered_folder(tmp_path / "runs", "demo").name for _ in range(3)]
    assert names == ["demo-001", "demo-002", "demo-003"]
    with ThreadPoolExecutor(8) as pool:
        made = [*pool.map(lambda _: numbered_folder(tmp_path, "evaluation"), range(80))]
    assert len({*made}) == 80
