import os

import pytest

from experiment.errors import UserError
from experiment.files import replace_text, write_json, write_text


def test_a_file_is_as_it_was_when_its_writer_is_stopped(tmp_path, monkeypatch):
    path = tmp_path / "table.md"
    replace_text(path, "old")

    def stop(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        replace_text(path, "new")
    assert path.read_text() == "old"
    monkeypatch.undo()
    replace_text(path, "newer")
    assert path.read_text() == "newer" and [*tmp_path.iterdir()] == [path]


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot write") as error:
        write_text(tmp_path / "file/below/table.md", "text")
    assert "\n" not in str(error.value)


def test_json_has_no_word_for_nan(tmp_path):
    write_json(tmp_path / "new/result.json", {"mean": 1.5})
    assert (tmp_path / "new/result.json").read_text() == '{\n  "mean": 1.5\n}\n'
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "new/result.json", {"mean": float("nan")})
