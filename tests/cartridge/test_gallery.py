"""The gallery and the film: what they choose to show, and what they write."""

import dataclasses
from pathlib import Path

import cv2
import numpy as np
import pytest

from cartridge.levels import film, gallery, preview
from cartridge.levels.cells import Act, Cell, Spawn, SpawnKind
from cartridge.levels.console import Status
from retro_agents.ground.errors import UserError

NOWHERE = Status(0, 384, 0, 6000, 0, 0, 0, 0, 0, 3, finished=False, score=0.0, switches=0)


def act_with(*spawns, number=1):
    columns = ((Cell.EMPTY,) * 32,) * 400
    return Act(0, number, columns, spawns, start=(40, 384), end_x=6040, chunks=())


def at(x, frame=0):
    return NOWHERE._replace(x=x, progress=x - 40, frame=frame)


def test_rare_objects_make_a_moment_interesting():
    act = act_with(
        *(Spawn(2000 + 20 * i, 384, SpawnKind.WALKER) for i in range(4)),
        Spawn(4000, 384, SpawnKind.GATE),
    )
    worth = gallery.rarity([act])
    assert worth == {SpawnKind.WALKER: 1 / 4, SpawnKind.GATE: 1.0}
    assert gallery.interest(act, at(3000), worth) == 0
    assert gallery.interest(act, at(2000), worth) == 1 / 4
    assert gallery.interest(act, at(4000), worth) == 1
    flooded = dataclasses.replace(act, water_y=320)
    assert gallery.interest(flooded, at(4000), worth) == 1 + gallery.WET


def test_rings_alone_make_no_picture_and_neither_do_the_ends_of_an_act():
    act = act_with(
        Spawn(60, 384, SpawnKind.SWITCH),
        Spawn(3000, 384, SpawnKind.RING),
        Spawn(5990, 384, SpawnKind.END_POST),
    )
    worth = gallery.rarity([act])
    assert gallery.interest(act, at(3000), worth) == 0
    assert gallery.interest(act, at(60), worth) == gallery.interest(act, at(5990), worth) == -1


def test_richest_act_is_the_one_with_most_kinds():
    plain = act_with(Spawn(100, 384, SpawnKind.WALKER), Spawn(200, 384, SpawnKind.WALKER))
    rich = act_with(Spawn(100, 384, SpawnKind.WALKER), Spawn(200, 384, SpawnKind.LOOP), number=2)
    other_zone = dataclasses.replace(rich, zone=1)
    assert gallery.richest([plain, rich, other_zone], "BrambleWood") is rich


def test_window_of_the_film_holds_what_there_is_to_see():
    act = act_with(*(Spawn(3000 + 50 * i, 384, kind) for i, kind in enumerate(SpawnKind)))
    track = [at(40 + 2 * i, i) for i in range(2900)]
    start = film.best_window(track, act, frames=600)
    assert track[start].x < 3000
    assert track[start + 599].x > 3000 + 50 * 18


def test_grid_fills_up_with_black():
    pictures = [np.full((4, 6, 3), i + 1, np.uint8) for i in range(3)]
    sheet = gallery.grid(pictures, columns=2)
    assert sheet.shape == (8, 12, 3)
    assert sheet[0, 6, 0] == 2
    assert sheet[4, 0, 0] == 3
    assert (sheet[4:, 6:] == 0).all()


def test_committed_pictures_are_small_and_whole():
    assert gallery.GALLERY.stat().st_size <= 400_000
    picture = cv2.imread(str(gallery.GALLERY))
    assert picture is not None
    assert picture.shape == (3 * 224, 5 * 320, 3)


def test_a_png_is_what_was_drawn(tmp_path):
    picture = np.zeros((4, 6, 3), np.uint8)
    picture[1, 2] = (200, 100, 50)
    path = preview.write_png(tmp_path / "new" / "a.png", picture)
    read = cv2.imread(str(path))
    assert read is not None
    np.testing.assert_array_equal(read[:, :, ::-1], picture)


def unasked():
    """Shots that nobody should want."""
    pytest.fail("played before the place was tried")
    yield


@pytest.mark.parametrize(
    ("write", "name", "words"),
    [
        (lambda path: gallery.write_gallery([], path=path), "a.jpg", "ends in .png"),
        (lambda path: gallery.write_gallery([], path=path), "file/a.png", "a writable place"),
        (lambda path: film.write_film(unasked(), path=path), "a.txt", "ends in .gif or .mp4"),
        (lambda path: film._write_gif(path, unasked()), "file/a.gif", "a writable place"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_anything_is_played(
    tmp_path, write, name, words
):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=f"cannot write .*{words}"):
        write(tmp_path / name)


def test_a_film_of_no_recording_is_one_line(tmp_path, capfd):
    (tmp_path / "a.bk2").write_text("none")
    with pytest.raises(UserError, match=r"not a \.bk2"):
        film.write_film(film.ending(tmp_path / "a.bk2"), path=tmp_path / "a.gif")
    assert capfd.readouterr().err == "" and not (tmp_path / "a.gif").exists()


def test_film_of_a_recording_is_its_last_seconds(monkeypatch):
    monkeypatch.setattr(film, "screens", lambda path: iter(range(2000)))
    assert [int(shot) for shot in film.ending(Path("a.bk2"))] == list(range(1280, 2000, 2))


def test_film_is_written_as_gif(tmp_path):
    shots = (np.full((224, 320, 3), 8 * i, np.uint8) for i in range(12))
    path = film._write_gif(tmp_path / "a.gif", shots)
    assert path.read_bytes().startswith(b"GIF89a")
    moving = cv2.VideoCapture(str(path))
    assert sum(moving.grab() for _ in range(10)) == 6
    moving.release()
