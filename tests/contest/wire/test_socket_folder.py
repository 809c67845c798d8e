import errno
import os
import socket
import stat
import sys
import time
from pathlib import Path

import pytest

from retro_agents.contest.wire.connection import Late, time_left
from retro_agents.contest.wire.protocol import SOCKET
from retro_agents.contest.wire.socket_folder import (
    LONGEST_PATH,
    accept,
    meeting_place,
    private_folder,
)
from retro_agents.ground.errors import UserError
from retro_agents.ground.temporary import PREFIX


def test_folder_open_to_others_is_refused_unless_empty(tmp_path):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o755)
    assert stat.S_IMODE(private_folder(folder).stat().st_mode) == 0o700
    (folder / "file").touch()
    folder.chmod(0o755)
    with pytest.raises(UserError, match="open to other users"):
        private_folder(folder)


def test_second_server_in_a_folder_or_a_path_too_long_is_refused(tmp_path):
    with (
        meeting_place(tmp_path),
        pytest.raises(UserError, match="another server"),
        meeting_place(tmp_path),
    ):
        pass
    with meeting_place(tmp_path):
        pass
    too_long = pytest.raises(UserError, match="a shorter --dir, or TMPDIR=/tmp")
    with too_long, meeting_place(tmp_path / ("x" * 100)):
        pass


def test_what_a_killed_server_left_is_no_hindrance_nor_a_limit_of_ages(tmp_path):
    (tmp_path / "sock").touch()
    (tmp_path / "sock.new").touch()
    (tmp_path / "ob").touch()
    with meeting_place(tmp_path) as folder:
        with pytest.raises(Late):
            accept(folder / "sock", deadline=0.0)
        assert (folder / "sock").is_socket()
    assert not list(tmp_path.glob("sock"))
    with socket.socket() as waits:
        waits.settimeout(time_left(time.monotonic() + 1e16))


def refuse(*_):
    raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


@pytest.mark.parametrize("macos", [True, False])
def test_a_link_that_a_client_puts_in_the_sockets_place_opens_or_closes_no_folder(
    tmp_path, monkeypatch, macos
):
    if macos:
        monkeypatch.setattr(os, "fchmod", refuse)
    theirs, bind, modes = tmp_path / "theirs", socket.socket.bind, list[int]()
    theirs.mkdir()
    theirs.chmod(0o755)

    def swapped(listener, address):
        bind(listener, address)
        modes.append(stat.S_IMODE(Path(address).stat().st_mode))
        Path(address).unlink()
        Path(address).symlink_to(theirs)

    monkeypatch.setattr(socket.socket, "bind", swapped)
    with meeting_place(tmp_path / "meet") as folder, pytest.raises(Late):
        accept(folder / "sock", deadline=0.0)
    assert stat.S_IMODE(theirs.stat().st_mode) == 0o755
    assert macos or modes == [0o600] or sys.platform != "linux"


def test_macos_has_room_for_a_socket_in_a_temporary_folder():
    place = f"/private/var/folders/zz/{'x' * 30}/T/{PREFIX}12345678/meet"  # as the leaderboard's
    assert len(f"{place}/{SOCKET}") <= LONGEST_PATH
