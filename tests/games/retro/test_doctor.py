"""The doctor's report."""

import json
import sys

import pytest

from retro_agents.games.retro import doctor
from retro_agents.games.retro.doctor import Fact


def test_reports_what_is_there_and_what_is_missing(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["doctor", "--json"])
    doctor.main()
    facts = [Fact(**fact) for fact in json.loads(capsys.readouterr().out)]
    assert {fact.topic for fact in facts} >= {
        *("python", "package", "emulator", "roms", "levels", "display", "ffmpeg", "cpu")
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
    for fact in (doctor.procgen_fact, doctor.film_fact, doctor.display_fact):
        assert "retro-contest-agents[" in fact().text


def test_a_film_program_that_does_not_start_is_said(monkeypatch):
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", "/nope")
    fact = doctor.film_fact()
    assert fact.status == "optional" and "/nope" in fact.text


def test_pytorch_that_lacks_a_library_is_said(tmp_path, monkeypatch):
    missing = "libcublas.so.12: cannot open shared object file"
    (tmp_path / "torch.py").write_text(f"raise OSError({missing!r})\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert [*doctor.compute_facts()][1:] == [Fact("torch", "optional", f"no nets: {missing}")]
