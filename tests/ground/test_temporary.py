"""Temporary folders last as long as a process that holds them, however it ends."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from retro_agents.ground import temporary
from retro_agents.ground.errors import UserError
from retro_agents.ground.temporary import PREFIX, temporary_folder

HOLDS = """
import subprocess, sys
from retro_agents.ground.temporary import temporary_folder
with temporary_folder() as (folder, lock):
    (folder / "file").touch()
    child = [sys.executable, "-c", "input()"]
    given = {"pass_fds": [lock], "stdin": 0} if "child" in sys.argv else {"stdin": -3}
    held = subprocess.Popen(child, **given)
    print(folder, flush=True)
    held.wait() if "child" in sys.argv else input()
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(temporary.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def there(path):
    return sorted(one.name for one in path.iterdir())


def test_what_a_killed_process_left_is_removed_by_the_next_start(tmp_path):
    command = [sys.executable, "-c", HOLDS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        folder = Path(process.stdout.readline().decode().strip())
        with temporary_folder():
            assert there(folder) == ["file"]  # its process lives
        process.send_signal(signal.SIGKILL)
        process.wait()
    others = ["retro-agents-runs", f"{PREFIX}linked00", f"{PREFIX}mine"]
    (tmp_path / others[0]).mkdir()
    (tmp_path / others[1]).symlink_to(tmp_path)
    (tmp_path / others[2]).mkdir()
    with temporary_folder() as (own, _):
        assert there(tmp_path) == sorted([own.name, *others])
    assert there(tmp_path) == sorted(others)


def test_what_another_machine_left_stays(tmp_path):
    code = f"import platform\nplatform.node = lambda: 'elsewhere'\n{HOLDS}"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        folder = Path(process.stdout.readline().decode().strip())
        process.send_signal(signal.SIGKILL)
    with temporary_folder():
        assert there(folder) == ["file"]


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(temporary.tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(UserError, match=r"no temporary folder can be made: No such file.*TMPDIR"):
        temporary_folder().__enter__()


def test_a_child_that_inherits_the_lock_keeps_the_folder(tmp_path):
    command = [sys.executable, "-c", HOLDS, "child"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        folder = Path(process.stdout.readline().decode().strip())
        process.send_signal(signal.SIGKILL)
        process.wait()
        with temporary_folder():
            assert there(folder) == ["file"]
