"""A recording is read whole or refused in one line, whatever it holds."""

import json
import random
import sys
import zipfile
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from retro_agents.games.retro import playback, recordings
from retro_agents.games.retro.native_rows import HEADER, LOG_KEY, log_row
from retro_agents.games.retro.playback import screens
from retro_agents.games.retro.recordings import read_recording
from retro_agents.ground.errors import UserError

GAME = "BrambleDash-Genesis-v0"
PARTS = {
    "Input Log.txt": LOG_KEY + log_row([]) + log_row(["RIGHT", "B"]) * 30 + "[/Input]",
    "Header.txt": HEADER.format(game=GAME),
    "Core.bin": random.Random(0).randbytes(2000),
}


def write(path, **changes):
    """A recording, some of its parts others; None: without."""
    parts = {name: changes.get(name.split()[0].split(".")[0], part) for name, part in PARTS.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, part in parts.items():
            if part is not None:
                file.writestr(name, part)
    return path


def test_a_recording_comes_back(tmp_path):
    read = read_recording(write(tmp_path / "x.bk2"))
    assert (read.game, read.state, read.pads.shape) == (GAME, PARTS["Core.bin"], (31, 12))
    assert not read.pads[0].any() and read.pads[1].tolist() == [1, *[0] * 6, 1, *[0] * 4]


@pytest.mark.timeout(60)
def test_damaged_copies_are_refused_or_the_same(tmp_path):
    """Cut, bits changed, or bytes put in their places; the emulator's own reader did not return
    from some."""
    whole, draw = write(tmp_path / "x.bk2").read_bytes(), random.Random(1)
    before, refused = read_recording(tmp_path / "x.bk2"), 0
    for _ in range(300):
        data, at = bytearray(whole), draw.randrange(len(whole))
        kind = draw.choice(["cut", "bit", "bytes"])
        if kind == "cut":
            del data[at:]
        elif kind == "bit":
            data[at] ^= 1 << draw.randrange(8)
        else:
            data[at : at + draw.randrange(40)] = draw.randbytes(draw.randrange(40))
        (tmp_path / "damaged.bk2").write_bytes(data)
        try:
            after = read_recording(tmp_path / "damaged.bk2")
        except UserError as error:
            refused += r"\n" not in str(error)
        else:
            assert (after.game, after.state) == (before.game, before.state)
            np.testing.assert_array_equal(after.pads, before.pads)
            refused += 1
    assert refused == 300


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"Core": None}, "no item named"),
        ({"Input": PARTS["Input Log.txt"][:-9]}, "the input log is cut"),
        ({"Input": PARTS["Input Log.txt"].replace("P1 Z", "P2 Z")}, "not in list"),
        ({"Input": PARTS["Input Log.txt"].replace("|..|.", "|..|", 1)}, "lines of several lengths"),
        ({"Input": PARTS["Input Log.txt"].replace("B|\n[/", "Ü|\n[/")}, "ascii"),
        ({"Core": bytes(70_000)}, "Core.bin has more than 60000 bytes"),
        ({"Header": "\n"}, "not a .bk2 recording, or a damaged one"),
        ({"Header": HEADER.format(game="No\x1bGame")}, r"unknown game 'No\x1bGame'"),
    ],
)
def test_what_a_recording_cannot_hold_is_one_line(changes, says, tmp_path, monkeypatch):
    monkeypatch.setattr(recordings, "LARGEST", 60_000)
    with pytest.raises(UserError) as error:
        read_recording(write(tmp_path / "x.bk2", **changes))
    assert says in str(error.value) and str(error.value).isprintable()


def test_an_emulator_that_refuses_hangs_or_dies_is_one_line(tmp_path, monkeypatch):
    path = write(tmp_path / "x.bk2")
    with pytest.raises(UserError, match=f"begins with no state of {GAME}"):
        next(screens(path))
    monkeypatch.setattr(playback, "SECONDS", 0.0)
    with pytest.raises(UserError, match="plays no frame 0"):
        next(screens(path))
    monkeypatch.setattr(playback, "SECONDS", 60.0)
    monkeypatch.setattr(sys, "executable", "false")
    with pytest.raises(UserError, match=r"the emulator ended on .* \(code 1\)"):
        next(screens(path))


def test_a_reader_may_pause_for_as_long_as_it_likes(monkeypatch):
    """The timer runs while a frame is made, not while it is sent."""
    told: list[Any] = []
    connection = SimpleNamespace(send_bytes=lambda _: told.append("sent"))
    setup = json.dumps({"custom_folders": [], "recording": "x"}).encode()
    monkeypatch.setattr(playback, "play", lambda _: iter([np.zeros(1, np.uint8)] * 2))
    monkeypatch.setattr(playback, "Connection", lambda *_, **__: connection)
    monkeypatch.setattr(playback.signal, "alarm", told.append)
    monkeypatch.setattr("sys.argv", ["playback", "3"])
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=BytesIO(setup)))
    playback.main()
    one = [0, "sent", playback.SECONDS]
    assert told == [playback.SECONDS, *one, *one]
