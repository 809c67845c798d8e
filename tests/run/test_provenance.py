"""Where a run comes from."""

import json

import pytest

from retro_agents.ground.errors import UserError
from retro_agents.run.provenance import FILE, program, read, recorded
from tests.runs import ROOT


def test_each_start_of_a_run_is_recorded_with_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", [f"{ROOT}/es/master.py", "--run-dir", "my run"])
    with recorded(tmp_path, "tally", env_steps=0):
        (entry,) = read(tmp_path)
        assert (
            entry["ended"] is None and entry["command"] == "python -m es.master --run-dir 'my run'"
        )
    monkeypatch.setattr("sys.argv", ["retro-agents train tally", "--seed", "1"])
    with pytest.raises(KeyboardInterrupt), recorded(tmp_path, "tally", env_steps=500):
        raise KeyboardInterrupt
    first, second = json.loads((tmp_path / FILE).read_text())
    assert first["ended"] >= first["begun"] and second["ended"]
    assert [first["from_step"], second["from_step"]] == [0, 500]
    assert second["command"] == "retro-agents train tally --seed 1"  # a command of several words
    monkeypatch.setattr("sys.argv", ["/some/folder/my train.py"])
    assert program() == "python 'my train.py'"
    monkeypatch.setattr("sys.argv", ["scripts/mine.py"])
    assert program() == "python scripts/mine.py"
    assert {"commit", "version", "machine", "numpy", "gymnasium"} <= first.keys()


def test_a_damaged_file_is_begun_anew(tmp_path):
    (tmp_path / FILE).write_text("[1")
    with recorded(tmp_path, "tally", env_steps=0):
        assert len(read(tmp_path)) == 1


def test_a_file_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / FILE).mkdir()
    with pytest.raises(UserError, match="cannot write"), recorded(tmp_path, "t", env_steps=0):
        pass
