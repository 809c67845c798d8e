"""The doctor's report."""

import json
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from retro_agents.games.retro import doctor
from retro_agents.games.retro.doctor import Fact


def test_reports_what_is_there_and_what_is_missing(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["doctor", "--json"])
    doctor.main()
    facts = [Fact(**fact) for fact in json.loads(capsys.readouterr().out)]
    assert {fact.topic for fact in facts} >= {
        *("python", "package", "emulator", "roms", "levels", "display", "ffmpeg", "cpu"),
        *("folder", "mpi", "ray", "cuda"),
    }
    (emulator,) = [fact for fact in facts if fact.topic == "emulator"]
    assert emulator.status == "ok"
    (roms,) = [fact for fact in facts if fact.topic == "roms"]
    assert "Airstriker-Genesis-v0" in roms.text


@pytest.mark.usefixtures("without_libgl")
def test_what_procgen_lacks_is_said_with_what_to_do():
    fact = doctor.tried("procgen", doctor.TRY_PROCGEN, "optional", "")
    assert fact.status == "optional"
    assert "libGL.so.1" in fact.text and "apt-get install libgl1" in fact.text


def test_a_split_without_its_roms_and_what_is_missing_are_said(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "rom_of", lambda game: None)
    fact = doctor.split_fact("sonic-test")
    assert fact.status == "optional"
    assert "0 of 11 playable" in fact.text
    assert "retro-agents import-roms DIR" in fact.text
    monkeypatch.setattr(doctor, "facts", lambda: [Fact("emulator", "missing", "gone")])
    monkeypatch.setattr("sys.argv", ["doctor"])
    with pytest.raises(SystemExit) as error:
        doctor.main()
    assert error.value.code == 1
    assert capsys.readouterr().out == "missing  emulator  gone\n"


def test_a_package_that_is_missing_is_said_with_its_extra(monkeypatch):
    monkeypatch.setattr(doctor, "find_spec", lambda module: None)
    assert all("retro-contest-agents[" in fact.text for fact in [*doctor.compute_facts()][1:3])
    for fact in (doctor.procgen_fact, doctor.film_fact, doctor.display_fact):
        assert "retro-contest-agents[" in fact().text


def test_a_film_program_that_does_not_start_is_said(monkeypatch):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/nope")
    fact = doctor.film_fact()
    assert fact.status == "optional" and "/nope" in fact.text


def test_a_folder_without_locks_and_one_that_cannot_be_written_are_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fact = doctor.folder_fact()
    assert fact.status == "ok" and "GiB free" in fact.text and not [*tmp_path.iterdir()]
    fails = Mock(side_effect=OSError(30, "Read-only file system"))
    for where, name, says in (
        (doctor, "lock_descriptor", "has no locks"),
        (doctor.tempfile, "TemporaryDirectory", "cannot write"),
    ):
        monkeypatch.setattr(where, name, fails)
        fact = doctor.folder_fact()
        assert fact.status == "optional" and says in fact.text


def test_a_system_that_keeps_nothing_from_entries_is_said(monkeypatch):
    monkeypatch.setattr("retro_agents.contest.leaderboard.confine.can_hide", lambda: False)
    fact = doctor.isolation_fact()
    assert fact.status == "optional" and "`leaderboard score` needs --trust" in fact.text


def test_a_driver_without_a_build_for_it_is_said(tmp_path, monkeypatch):
    (tmp_path / "version").write_text("NVRM version: 570.1\nGCC\n")
    monkeypatch.setattr(doctor, "DRIVER", tmp_path / "version")
    cuda = SimpleNamespace(is_available=lambda: False)
    for build, says in ((None, "has no CUDA"), ("12.8", "is for CUDA 12.8")):
        torch = SimpleNamespace(cuda=cuda, version=SimpleNamespace(cuda=build))
        monkeypatch.setitem(sys.modules, "torch", torch)
        text = [*doctor.compute_facts()][-1].text
        assert f"(PyTorch {says}; driver: NVRM version: 570.1)" in text


def test_pytorch_that_lacks_a_library_is_said(tmp_path, monkeypatch):
    missing = "libcublas.so.12: cannot open shared object file"
    (tmp_path / "torch.py").write_text(f"raise OSError({missing!r})\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert [*doctor.compute_facts()][3:] == [Fact("torch", "optional", f"no nets: {missing}")]
