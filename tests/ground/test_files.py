import errno
import os
import shutil
from pathlib import Path
from unittest.mock import Mock

import pytest

from retro_agents.ground import files
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import (
    all_or_nothing,
    complete_checkpoints,
    drafted,
    drafted_folder,
    folder_for,
    make_folder,
    move_folder,
    number_of,
    remove_folder,
    replace_text,
    sync_folder,
    wait_for_lock,
    write_json,
    write_text,
)


def test_a_file_is_as_it_was_when_its_writer_is_stopped(tmp_path, monkeypatch):
    path = tmp_path / "table.md"
    replace_text(path, "old")
    monkeypatch.setattr(os, "fsync", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        replace_text(path, "new")
    assert path.read_text() == "old"
    monkeypatch.undo()
    replace_text(path, "newer")
    assert path.read_text() == "newer" and [*tmp_path.iterdir()] == [path]


def test_a_lock_is_waited_for_and_left_where_the_file_system_has_none(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(files, "PATIENCE", 0.0)
    path = tmp_path / "lock"
    with path.open("w") as one, path.open("w") as other:
        wait_for_lock(one.fileno(), otherwise="held")
        with pytest.raises(UserError, match="held"):
            wait_for_lock(other.fileno(), otherwise="held")
        none = OSError(errno.ENOSYS, "Function not implemented")
        monkeypatch.setattr(files, "lock_descriptor", Mock(side_effect=none))
        files.warn_without_locks.cache_clear()
        for _ in range(2):
            wait_for_lock(other.fileno(), otherwise="held")
    said = "warning: the file system supports no locks (Function not implemented): do not let"
    warned = capsys.readouterr().err
    assert warned.startswith(said) and warned.count("\n") == 1


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    inside = tmp_path / "file/below/table.md"
    for write in (lambda: write_text(inside, "text"), lambda: make_folder(inside), draft(inside)):
        with pytest.raises(UserError, match="cannot write") as error:
            write()
        assert r"\n" not in str(error.value)
    for write in (lambda: write_text(Path(), "text"), draft(Path())):
        with pytest.raises(UserError, match="it is a folder"):
            write()


def draft(path, error=None):
    """Writes through `drafted`, and fails in the middle if told how."""

    def write():
        with drafted(path) as beside:
            assert beside.suffix == path.suffix and beside.parent == path.parent
            beside.write_text("new")
            if error is not None:
                raise error

    return write


def test_what_others_write_is_whole_or_as_it_was(tmp_path):
    path = tmp_path / "new/film.mp4"
    draft(path)()
    assert path.read_text() == "new"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        draft(path, KeyboardInterrupt())()
    with pytest.raises(UserError, match=r"film\.mp4: No space left; give a writable place"):
        draft(path, OSError("No space left\nand the command's own words"))()
    assert path.read_text() == "old" and [*path.parent.iterdir()] == [path]


def test_what_the_work_lacks_is_not_taken_for_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(FileNotFoundError):
        draft(tmp_path / "film.mp4", FileNotFoundError(2, "No such file", "proof.json"))()
    assert not [*tmp_path.iterdir()]


def test_a_folder_to_write_to_is_made_and_json_has_no_word_for_nan(tmp_path):
    for _ in range(2):
        make_folder(tmp_path / "new/folder")
    assert [*(tmp_path / "new/folder").iterdir()] == []
    write_json(tmp_path / "new/result.json", {"mean": 1.5})
    assert (tmp_path / "new/result.json").read_text() == '{\n  "mean": 1.5\n}\n'
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "new/result.json", {"mean": float("nan")})


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_cannot_sync_is_written_without(number, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(number, "x")))
    write_text(tmp_path / "file", "text")
    sync_folder(tmp_path)
    assert (tmp_path / "file").read_text() == "text"


def test_a_folder_that_cannot_be_renamed_is_copied(tmp_path, monkeypatch):
    """As one on a lower layer of an overlay, which a container's image may hold."""
    rename = Path.rename

    def only_drafts(path, target):
        if not path.name.startswith(".draft-"):
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", only_drafts)
    for name in ("step", "interrupted"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "meta.json").write_text(name)
    move_folder(tmp_path / "step", tmp_path / "aside")
    remove_folder(tmp_path / "interrupted")
    assert [path.name for path in tmp_path.iterdir()] == ["aside"]
    assert (tmp_path / "aside/meta.json").read_text() == "step"


def test_a_folder_is_as_before_if_what_it_was_for_fails(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/mine").touch()
    for folder in ("run", "new/run"):
        path = tmp_path / folder
        with pytest.raises(KeyboardInterrupt), folder_for(path), all_or_nothing(path):
            (path / "below").mkdir()
            (path / "below/file").touch()
            raise KeyboardInterrupt
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "run", tmp_path / "run/mine"]


def test_a_folder_that_another_process_made_meanwhile_stays(tmp_path):
    told = pytest.raises(UserError, match=r"another process has just made .*/run: run")
    with told, drafted_folder(tmp_path / "run"):
        (tmp_path / "run").mkdir()
        (tmp_path / "run/theirs").touch()
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "run", tmp_path / "run/theirs"]


def test_a_draft_is_not_written_through_anothers_link(tmp_path):
    """In a folder that others may write to."""
    (tmp_path / "theirs").write_text("kept")
    (tmp_path / ".result.json.draft").symlink_to(tmp_path / "theirs")
    write_text(tmp_path / "result.json", "mine")
    assert (tmp_path / "theirs").read_text() == "kept"
    assert (tmp_path / "result.json").read_text() == "mine"


def test_a_recording_replaces_none_but_ones_own(tmp_path):
    for number in (2, 7):
        (tmp_path / f"level-{number:06d}.bk2").touch()
    assert number_of(tmp_path, "level", 2, again=0) == 8
    assert number_of(tmp_path, "level", 2, again=3) == 2  # once more, after resuming
    assert number_of(tmp_path, "other", 2, again=0) == 2


def test_the_name_of_a_file_that_is_no_utf_8_is_written_with_escapes(tmp_path):
    write_text(tmp_path / "table.md", f"ü {os.fsdecode(bytes([255]))}")
    assert (tmp_path / "table.md").read_text(encoding="utf-8") == r"ü \udcff"
    assert [*tmp_path.iterdir()] == [tmp_path / "table.md"]


def test_a_folder_whose_removal_is_interrupted_is_no_checkpoint(tmp_path, monkeypatch):
    doomed = tmp_path / "step-000000010"
    doomed.mkdir()
    (doomed / "meta.json").touch()
    monkeypatch.setattr(shutil, "rmtree", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        remove_folder(doomed)
    assert complete_checkpoints(tmp_path) == []
