import errno
import json
import math
import os
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import msgspec
import numpy as np
import pytest
import torch

import retro_agents
import retro_agents.run.checkpoint
import retro_agents.run.draft
from ppo2.config import PPO2Config
from rainbow.config import RainbowConfig
from retro_agents.experience.episodes import Episode, write_episodes
from retro_agents.ground.errors import Damaged, Diverged, UserError
from retro_agents.run.checkpoint import (
    latest_checkpoint,
    load_agent,
    load_checkpoint,
    load_to_resume,
    save_checkpoint,
)
from retro_agents.run.config import replaced, to_dict
from retro_agents.run.distrust import reading, set_aside
from tests.forged import forge, forge_meta
from tests.runs import files_up_to, in_python

ARRAYS = {
    "frames": np.arange(5 * 4 * 3, dtype=np.uint8).reshape(5, 4, 3),
    "sliced": np.arange(60.0).reshape(6, 10)[:, 2:7],
    "empty": np.zeros((0, 3), np.float32),
    "scalar": np.array(7),
    "flags": np.array([True, False]),
}
STATE = {"bytes": b"\x00\xff", "nested": [{"a": 1.5, "b": None}], "text": "x"}


def save(folder, step, **changes):
    channels_last = torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)
    given: dict[str, Any] = {
        "agent": "rainbow",
        "config": {"seed": step},
        "counters": {"env_steps": step, "updates": step // 4},
        "tensors": {"net": {"w": channels_last, "b": torch.ones(2, dtype=torch.bfloat16)}},
        "arrays": ARRAYS,
        "state": STATE,
    }
    return save_checkpoint(folder, **(given | changes))


def test_everything_comes_back(tmp_path):
    folder = save(tmp_path / "checkpoints", 1234)
    assert folder == tmp_path / "checkpoints" / "step-000001234"
    for place in (tmp_path, tmp_path / "checkpoints", folder):
        found = load_checkpoint(place)
        assert (found.folder, found.agent) == (folder, "rainbow")
        assert found.config == {"seed": 1234}
        assert found.counters == {"env_steps": 1234, "updates": 308}
        assert found.state == STATE
        assert torch.equal(found.tensors["net"]["w"], torch.arange(24.0).reshape(1, 2, 3, 4))
        assert found.tensors["net"]["b"].dtype == torch.bfloat16
        assert set(found.arrays) == set(ARRAYS)
        for name, array in ARRAYS.items():
            assert found.arrays[name].dtype == array.dtype
            assert np.array_equal(found.arrays[name], array)


def test_only_the_newest_stay_and_none_comes_behind_a_later_one(tmp_path):
    for step in (10, 200, 1000, 1000):  # the same step again replaces it
        save(tmp_path, step, keep=2, state={"kept": len(list(tmp_path.iterdir()))})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-000000200", "step-000001000"]
    with pytest.raises(UserError, match=r"later checkpoint, step-000001000; give another folder"):
        save(tmp_path, 500)
    assert latest_checkpoint(tmp_path).name == "step-000001000"
    assert load_checkpoint(tmp_path).state == {"kept": 2}


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_weights_that_are_not_finite_are_neither_saved_nor_loaded(
    number, tmp_path, monkeypatch, capsys
):
    bad = {"net": {"b": torch.ones(2), "w": torch.tensor([0.0, number], dtype=torch.bfloat16)}}
    for step in (10, 20):
        save(tmp_path / "checkpoints", step)
    with pytest.raises(
        Diverged, match=r"net holds numbers that are not finite \(w\); .*step-000000020,"
    ):
        save(tmp_path / "checkpoints", 30, tensors=bad)
    names = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert names == ["step-000000010", "step-000000020"]
    with monkeypatch.context() as patch:  # as of another program
        patch.setattr(retro_agents.run.draft, "not_finite", lambda tensors: None)
        save(tmp_path / "checkpoints", 30, tensors=bad)
    with pytest.raises(Damaged, match=r"not finite .*the learning that saved it had diverged"):
        load_checkpoint(tmp_path)
    with pytest.raises(Damaged, match=r"use the one before it, .*/step-000000020$"):
        load_checkpoint(tmp_path)
    assert load_to_resume(tmp_path).counters["env_steps"] == 20
    assert "resuming from step-000000020" in capsys.readouterr().err


def test_a_checkpoint_is_not_gone_before_its_successor_is_there(tmp_path, monkeypatch):
    save(tmp_path, 10, config={"seed": 1})
    rename = Path.rename

    def stop(path, target):
        if path.name.startswith(".draft-step"):
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", stop)
    with pytest.raises(KeyboardInterrupt):
        save(tmp_path, 10, config={"seed": 2})
    assert load_checkpoint(tmp_path).config == {"seed": 1}


def test_a_file_that_cannot_be_written_leaves_the_previous_checkpoint(tmp_path):
    previous = save(tmp_path, 10)
    before = {p.name: p.read_bytes() for p in previous.iterdir()}
    noise = np.random.default_rng(0).integers(0, 255, 10_000, dtype=np.uint8)
    with files_up_to(5_000), pytest.raises(UserError, match="File too large") as caught:
        save(tmp_path, 20, arrays={"frames": noise})
    assert r"\n" not in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == ["step-000000010"]
    assert {p.name: p.read_bytes() for p in previous.iterdir()} == before
    assert load_checkpoint(tmp_path).counters["env_steps"] == 10


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 99}, "format version 99"),
        ({"format": "other"}, "foreign"),
        ({"files": {}}, "lacks its file"),
        ({"files": 3}, "is damaged"),
        ({"counters": {"env_steps": "x"}}, "is damaged"),
        ({"counters": {"env_steps": -1}}, "is damaged"),
        ({"counters": {}}, "counts no env_steps"),
        ({"also": 1}, "is damaged"),
        ({"agent": "x" * 1000}, "is damaged"),
        ({"tables": {"metrics.csv": 10**30}}, "is damaged"),
        *(({"file": file}, "has a bad entry") for file in ("../../x", "agent.py", "x.npy.zst")),
    ],
)
def test_foreign_or_odd_meta_is_a_user_error(change, says, tmp_path):
    folder = save(tmp_path, 10)
    if name := change.pop("file", ""):
        (folder / name).parent.mkdir(exist_ok=True)
        files = json.loads((folder / "meta.json").read_text())["files"]
        change["files"] = files | {name: files["config.json"]}
    forge_meta(folder, **change)
    with pytest.raises(UserError, match=says):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "[" * 100_000, '{"format": "other"}'])
def test_meta_of_anything_else_is_a_user_error(text, tmp_path):
    (save(tmp_path, 10) / "meta.json").write_text(text)
    with pytest.raises(Damaged, match=r"meta\.json is damaged"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("name", ["meta.json", "frames.npy.zst"])
def test_a_changed_bit_anywhere_is_noticed(name, tmp_path):
    path = save(tmp_path, 10) / name
    good = path.read_bytes()
    for place in range(len(good)):
        data = bytearray(good)
        data[place] ^= 1 << place % 8
        path.write_bytes(data)
        with pytest.raises(Damaged):
            _ = load_checkpoint(tmp_path).arrays["frames"]


DEEP = {"json": b"[" * 200_000, "msgpack": b"\x91" * 200_000}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        *(("config.json", data) for data in (b"null", b"[]", b"{", b"1" * 9999, DEEP["json"])),
        *(("state.msgpack", data) for data in (b"", b"\xc0", b"\xdd\xff\xff\xff\xff")),
        ("state.msgpack", DEEP["msgpack"]),
        ("state.msgpack", b"\x81\x01\x02"),  # a number names it
        *(("net.safetensors", data) for data in (b"", b"x", b"\xff" * 64, bytes(64))),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_hostile_contents_under_right_checksums_are_a_line(name, data, tmp_path):
    forge(save(tmp_path, 10), name, data)
    with pytest.raises(Damaged) as caught:
        load_checkpoint(tmp_path)
    assert r"\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        *({"shape": shape} for shape in ([5], [0], [10**15, 4, 3])),
        *({"dtype": dtype} for dtype in ("<f8", "<i3")),
    ],
)
def test_an_array_that_meta_describes_otherwise_is_a_line(change, tmp_path):
    folder = save(tmp_path, 10)
    files = json.loads((folder / "meta.json").read_text())["files"]
    files["frames.npy.zst"] |= change
    forge_meta(folder, files=files)
    with pytest.raises(Damaged, match=r"is damaged|'<i3' not understood"):
        _ = load_checkpoint(tmp_path).arrays["frames"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("nowhere", "no such folder"),
        ("mine:play", "plays a function"),
        ("file", "a file, not a folder"),
        ("empty", r"neither meta\.json .* is shipped with one \(rainbow, ppo2\)"),
        ("a b", r"`retro-agents list runs --of 'a b'` lists"),
        ("pp2", "did you mean 'ppo2'"),
    ],
)
def test_nothing_to_load_is_a_user_error(given, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("empty").mkdir()
    Path("a b/run/checkpoints").mkdir(parents=True)
    with pytest.raises(UserError, match=says):
        load_agent(given)


def test_objects_and_paths_cannot_be_saved(tmp_path):
    with pytest.raises(TypeError):
        save(tmp_path, 1, arrays={"x": np.array([object()])})
    with pytest.raises(ValueError, match="cannot name a file"):
        save(tmp_path, 1, arrays={"../x": np.zeros(1)})
    assert list(tmp_path.iterdir()) == []


KILLED = """
import random, sys
from pathlib import Path
from lab.attack.checkpoints import kill
print(*(kill(random.Random(seed), Path(sys.argv[1]) / str(seed)) or "whole" for seed in range(4)))
"""


def test_a_kill_at_any_moment_leaves_a_whole_checkpoint(tmp_path):
    assert in_python(KILLED, str(tmp_path)).stdout.split() == ["whole"] * 4
    for folder in tmp_path.glob("*/run"):
        save(folder, 1_000_000)  # clears what the killed one left
        assert all(p.name.startswith("step-") for p in folder.iterdir())


@pytest.mark.parametrize("agent", ["not_installed", "os", "json", "../x", "", "os.path"])
def test_load_agent_imports_only_agent_packages(tmp_path, agent):
    save(tmp_path, 10, agent=agent)
    with pytest.raises(UserError, match=r"no agent .* is installed here"):
        load_agent(tmp_path)


def test_recorded_episodes_are_not_loaded_as_an_agent(tmp_path):
    one = Episode("level", np.zeros(1, np.uint8), np.ones(1), True, ("RIGHT",), 4)
    write_episodes(tmp_path, [one])
    with pytest.raises(UserError, match="it holds recorded episodes; give an agent that learned"):
        load_agent(tmp_path)


def test_a_checkpoint_that_another_process_put_aside_is_passed_over(tmp_path, monkeypatch):
    older, newer = (save(tmp_path / "checkpoints", step) for step in (1, 2))

    def load(run_dir):
        folder = latest_checkpoint(run_dir)
        if folder == newer:
            newer.rename(newer.with_name(newer.name + ".damaged"))
            raise Damaged("cut off", folder)
        return load_checkpoint(folder)

    monkeypatch.setattr(retro_agents.run.checkpoint, "load_checkpoint", load)
    assert load_to_resume(tmp_path).folder == older
    assert newer.with_name(newer.name + ".damaged").is_dir()


@pytest.mark.parametrize("name", ["meta.json", "config.json", "frames.npy.zst"])
def test_a_file_that_may_not_be_opened_is_no_damage(name, tmp_path, monkeypatch):
    """Nor is its checkpoint set aside: it is whole once more files may be opened."""
    newest = [save(tmp_path / "checkpoints", step) for step in (1, 2)][-1]

    def refuse(path, *words, opened=Path.open, **named):
        if path == newest / name:
            raise OSError(errno.EMFILE, "Too many open files")
        return opened(path, *words, **named)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UserError, match=rf"{name} cannot be read: no more files may be opened"):
        load_to_resume(tmp_path)
    assert latest_checkpoint(tmp_path) == newest


def test_a_run_is_asked_for_no_other_tables_than_its_own(tmp_path, capsys):
    """Whose names could say anything to the terminal."""
    forge_meta(save(tmp_path / "checkpoints", 1), tables={"\x1b[2J": 9, "metrics.csv": 9})
    load_to_resume(tmp_path)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"warning: {tmp_path}/metrics.csv is cut: 0 bytes, 9 expected")


def test_every_file_is_on_the_disk_before_the_checkpoint_is_there(tmp_path, monkeypatch):
    synced = []

    def fsync(descriptor):
        assert not (tmp_path / "step-000000001").exists() or synced[-1] != tmp_path
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())

    monkeypatch.setattr(os, "fsync", fsync)
    folder = save(tmp_path, 1)
    *files, draft, last = synced
    assert {path.name for path in files} == {path.name for path in folder.iterdir()}
    assert draft == tmp_path / f".draft-{folder.name}" and last == tmp_path


@pytest.mark.parametrize(
    ("number", "says"), [("EIO", "; save elsewhere"), ("ENOSPC", "; free some space there, or")]
)
def test_advice_fits_what_is_wrong_with_the_disk(number, says, tmp_path, monkeypatch):
    failing = Mock(side_effect=OSError(getattr(errno, number), number))
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(UserError, match=f"{number}{says}"):
        save(tmp_path, 1)


def test_a_state_of_other_types_than_a_schemas_is_a_line(tmp_path):
    class Kept(msgspec.Struct):
        text: str
        bytes: bytes

    saved = load_checkpoint(save(tmp_path, 1))
    assert saved.state_as(Kept).text == "x"
    with pytest.raises(Damaged, match=r"does not hold what its agent saves \(Expected `str`"):
        load_checkpoint(save(tmp_path, 2, state={"text": 1, "bytes": b""})).state_as(Kept)


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        *(
            (error, Damaged, "does not hold what its agent saves")
            for error in (StopIteration(), KeyError("x"), RecursionError("deep"))
        ),
        (MemoryError(), UserError, "no memory is left"),
        (torch.OutOfMemoryError("CUDA out of memory."), UserError, "no memory is left"),
        (ModuleNotFoundError(name="datasketch"), UserError, "datasketch is not installed"),
    ],
)
def test_what_cannot_be_used_is_damaged_unless_memory_or_an_extra_lacks(
    error, kind, said, tmp_path
):
    with pytest.raises(kind, match=said) as caught, reading(tmp_path):
        raise error
    assert caught.type is kind


def test_a_checkpoint_that_is_damaged_again_replaces_the_one_set_aside_before(tmp_path):
    for name in ("step-000000001", "step-000000002", "step-000000002.damaged"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "meta.json").write_text(name)
    set_aside(Damaged("it is damaged", tmp_path / "step-000000002"))
    assert sorted(path.name for path in tmp_path.iterdir())[1:] == ["step-000000002.damaged"]
    aside = tmp_path / "step-000000002.damaged" / "meta.json"
    assert aside.read_text() == "step-000000002"


def test_a_checkpoint_is_not_resumed_as_a_run(tmp_path, monkeypatch):
    folder = save(tmp_path / "checkpoints", 10)
    monkeypatch.chdir(folder.parent)
    for given in (folder, folder.name):
        with pytest.raises(UserError, match="is a checkpoint: give its run's folder"):
            load_to_resume(given)


def test_the_one_before_a_damaged_checkpoint_is_so_by_its_step(tmp_path):
    save(tmp_path, 999_950_000)
    (save(tmp_path, 1_000_000_000) / "state.msgpack").write_bytes(b"")
    with pytest.raises(Damaged, match=r"use the one before it, .*step-999950000$"):
        load_checkpoint(tmp_path)


def test_that_a_damaged_checkpoint_is_the_only_one_of_its_run_is_said(tmp_path):
    for name in ("net.safetensors", "frames.npy.zst"):
        file = save(tmp_path / name / "checkpoints", 10) / name
        file.write_bytes(bytes(file.stat().st_size))
        with pytest.raises(Damaged, match=r"; use another run: this one has no other checkpoint$"):
            load_to_resume(tmp_path / name)


def test_the_amount_of_what_is_only_switched_may_change(tmp_path):
    config = replaced(PPO2Config(), self_imitation=0.5)
    saved = load_checkpoint(save(tmp_path, 10, config=to_dict(config)))
    saved.check_same(replaced(config, self_imitation=0.2))
    with pytest.raises(UserError, match=r"has --self-imitation 0\.5, not 0\.0: resume with"):
        saved.check_same(replaced(config, self_imitation=0.0))


def test_a_config_that_lacks_a_fixed_field_is_of_another_version(tmp_path):
    saved = load_checkpoint(save(tmp_path, 10, config={"n_step": 3}))
    with pytest.raises(UserError, match=r"saved by another version of .* \(without '"):
        saved.check_same(RainbowConfig())
