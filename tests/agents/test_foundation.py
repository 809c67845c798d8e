"""What agents have from the frame of a run, on the smallest one: stopped, damaged, refused."""

import json
import os
import signal
import sys
from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest
import safetensors.numpy
from msgspec import msgpack

from retro_agents.ground.errors import UserError
from retro_agents.ground.events import Events
from retro_agents.ground.files import write_json
from retro_agents.run.checkpoint import latest_checkpoint, load_agent, load_checkpoint
from retro_agents.run.config import to_dict
from tests.agents.tiny import OUTSIDE, find, main, tiny, train, words
from tests.conftest import Corridor
from tests.forged import forge
from tests.runs import (
    Stop,
    assert_same_run,
    family,
    files_up_to,
    interrupted,
    play,
    stopping,
    what_it_left,
)


def test_it_learns_the_corridor_and_acts_alike_once_loaded(tmp_path):
    agent = train("tally", tmp_path, "--timesteps", "400")
    loaded, (obs, _) = load_agent(tmp_path), Corridor(2).reset()
    assert agent.act(obs).shape == (2,) and agent.act(obs[0]).shape == ()
    assert play(agent, Corridor(1)) == play(loaded, Corridor(1)) == 8.0
    assert play(find("tally").build(to_dict(loaded.config)), Corridor(1)) < 8.0


def test_same_seed_same_run_wherever_it_lies(tmp_path, capsys):
    """Checkpoints are the same files, byte by byte."""
    for name, seed in (("one", 0), ("two", 0), ("other", 1)):
        train("tally", tmp_path / name, "--seed", seed, "--run-dir", tmp_path / name)
    assert "tally: 60/60 steps" in capsys.readouterr().err.splitlines()[-2]
    assert_same_run(tmp_path / "one", tmp_path / "two")
    one, other = (what_it_left(tmp_path / name) for name in ("one", "other"))
    assert one["metrics.csv"] != other["metrics.csv"]
    assert load_checkpoint(tmp_path / "other").config["run"]["seed"] == 1
    train("tally", tmp_path / "none", "--timesteps", "0")
    assert load_checkpoint(tmp_path / "none").counters["env_steps"] == 0


@pytest.mark.parametrize("number", [None, signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_resumes_exactly_and_saves_where_it_is_told_to_stop(
    number, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(sys, "argv", ["retro-agents train tally"])
    every = ["--checkpoint-every", "0" if number else "16"]
    train("tally", tmp_path / "whole", *every)
    envs = stopping(Corridor(2), tmp_path / "parts")
    if number:
        wait, left = Corridor.step_wait, [0] * 20
        press = lambda: left and not left.pop() and not left and os.kill(os.getpid(), number)  # noqa: E731
        envs.step_wait = lambda *args: (press(), wait(envs, *args))[1]
    with pytest.raises(KeyboardInterrupt if number else Stop) as stop:
        train("tally", tmp_path / "parts", *every, envs=envs)
    if number:
        again = f"retro-agents train tally --run-dir {tmp_path / 'parts'} --resume continues"
        assert again in str(stop.value.args) and stop.value.number == number
        assert "saving a checkpoint" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    train("tally", tmp_path / "parts", *every, "--resume")
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


def test_a_sigterm_to_emulators_too_saves(tmp_path, monkeypatch):
    """As clusters send it."""
    monkeypatch.setenv("PYTHONPATH", str(OUTSIDE))
    flags = words("tally", "--backend", "emulator", "--checkpoint-every", "0")
    command = [sys.executable, "-m", "tally.train", *flags, "--timesteps", "1000000"]
    command += ["--run-dir", str(tmp_path)]
    said = interrupted(command, tmp_path, number=signal.SIGTERM, told=family)
    assert said.count("interrupted") == 2 and "--resume continues from the last checkpoint" in said
    assert load_checkpoint(tmp_path).counters["env_steps"] > 0


def test_what_cannot_be_written_begun_with_or_resumed_is_refused(tmp_path, refused):
    def resume(folder):
        return ["--run-dir", tmp_path / folder, "--resume"]

    nowhere = words("tally", "--run-dir", "/proc/nowhere")
    assert "/proc/nowhere" in refused(main, "tally", nowhere)
    train("tally", tmp_path / "run")
    said = refused(main, "tally", [*resume("run"), "--discount", "0.5"])
    assert "the saved run has --discount 1.0, not 0.5: resume with the same" in said
    write_json(tmp_path / "sac/config.json", to_dict(tiny("sac")))
    said = refused(main, "tally", resume("sac"))
    assert "resume it with the agent and version that began it" in said
    folder = latest_checkpoint(tmp_path / "run")
    weights = folder / "net.safetensors"
    weights.write_bytes(weights.read_bytes()[:-9])
    said = refused(main, "tally", words("tally", "--init", folder, "--run-dir", tmp_path / "new"))
    assert folder.name in said and "is cut off" in said


def resumed(capsys, run_dir, steps=90):
    """What resuming a run says on stderr."""
    capsys.readouterr()
    train("tally", run_dir, "--resume", "--timesteps", steps)
    return capsys.readouterr().err


def cut(folder, name):
    path = folder / name
    path.write_bytes(path.read_bytes()[:-9])


def changed(folder, name):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def lost(folder, name):
    (folder / name).unlink()


def emptied(folder, name):
    forge(folder, name, b"\x80" if name.endswith("msgpack") else b"{}")


FILES = ("meta.json", "config.json", "returns.npy.zst", "net.safetensors", "state.msgpack")


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        *((name, harm) for name in FILES for harm in (cut, changed)),
        ("returns.npy.zst", lost),
        ("state.msgpack", emptied),
        ("config.json", emptied),
        ("state.msgpack", partial(forge, data=msgpack.encode({"rng": 1}))),
        ("net.safetensors", partial(forge, data=safetensors.numpy.save({}))),
        (
            "net.safetensors",
            partial(forge, data=safetensors.numpy.save({"tallies": np.zeros((9, 9))})),
        ),
    ],
)
def test_a_damaged_newest_checkpoint_is_put_aside(name, harm, capsys, tmp_path, refused):
    train("tally", tmp_path)
    older, newest = sorted((tmp_path / "checkpoints").glob("step-*"))
    harm(newest, name)
    said = resumed(capsys, tmp_path)
    (line,) = [line for line in said.splitlines() if line.startswith("warning")]
    assert newest.name in line and f"resuming from {older.name}" in line
    assert (tmp_path / "checkpoints" / f"{newest.name}.damaged").is_dir()
    latest = load_checkpoint(tmp_path)
    assert latest.counters["env_steps"] > int(newest.name.removeprefix("step-"))
    for file in (older / "meta.json", *(tmp_path / "checkpoints").glob("step-*/meta.json")):
        file.unlink(missing_ok=True)
    assert "no checkpoint" in refused(main, "tally", ["--run-dir", tmp_path, "--resume"])


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("retro_agents.ground.memory.free_memory", lambda: 0.0, r"for .*returns\.npy\.zst: "),
        ("safetensors.torch.load", Mock(side_effect=MemoryError), "is left"),
        ("zstandard.ZstdDecompressor", Mock(side_effect=MemoryError), "is left"),
    ],
)
def test_a_lack_of_memory_sets_no_checkpoint_aside(name, value, says, tmp_path, monkeypatch):
    train("tally", tmp_path)
    newest = latest_checkpoint(tmp_path)
    monkeypatch.setattr(name, value)
    with pytest.raises(UserError, match=f"no memory {says}"):
        train("tally", tmp_path, "--resume", "--timesteps", "90")
    assert latest_checkpoint(tmp_path) == newest


def test_a_run_that_goes_on_longer_keeps_that_for_the_next_time(capsys, tmp_path):
    train("tally", tmp_path)
    resumed(capsys, tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["run"]["timesteps"] == 90


def test_a_cut_table_is_noticed(capsys, tmp_path):
    train("tally", tmp_path)
    assert "warning" not in resumed(capsys, tmp_path)
    table = tmp_path / "metrics.csv"
    table.write_bytes(table.read_bytes()[: table.stat().st_size // 2])
    assert f"warning: {table} is cut" in resumed(capsys, tmp_path, steps=130)


@pytest.mark.parametrize("table", ["csv", "events"])
def test_a_full_disk_between_checkpoints_is_one_line(table, tmp_path, monkeypatch):
    """Of files that may not become longer than a run's config."""
    if table == "csv":
        monkeypatch.setattr(Events, "log", lambda *_: None)
    too_large = pytest.raises(UserError, match=r"cannot write .*File too large")
    with files_up_to(8000), too_large as said:
        train("tally", tmp_path, "--checkpoint-every", "0", "--timesteps", "9000")
    assert r"\n" not in str(said.value) and ("tfevents" in str(said.value)) == (table == "events")


@pytest.mark.parametrize("there", [False, True])
def test_a_start_that_fails_leaves_a_folder_as_it_was(there, tmp_path, monkeypatch, refused):
    """Without a login, say, so that the corrected command starts."""
    if there:
        (tmp_path / "run").mkdir()
        (tmp_path / "run/notes").touch()

    wandb = Mock(init=Mock(side_effect=UserError("no login")))
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    where = words("tally", "--run-dir", tmp_path / "run")
    assert "no login" in refused(main, "tally", [*where, "--track", "wandb"])
    for module, flags in (("wandb", ["--track", "wandb"]), ("imageio", ["--video-every", "9"])):
        monkeypatch.setitem(sys.modules, module, None)
        assert f"{module} is not installed" in refused(main, "tally", [*where, *flags])
    left = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")]
    assert left == (["run", "run/notes"] if there else [])
