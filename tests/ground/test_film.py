from unittest.mock import Mock

import numpy as np
import pytest

from retro_agents.ground.errors import UserError
from retro_agents.ground.film import enlarged, write_video


@pytest.mark.parametrize("scale", [1, 2, 3, 8])
def test_an_enlarged_picture_has_every_pixel_as_a_square(scale):
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    large = enlarged(image, scale)
    assert large.dtype == np.uint8
    np.testing.assert_array_equal(large, image.repeat(scale, axis=0).repeat(scale, axis=1))


def test_a_film_has_the_speed_and_the_options_that_are_given(tmp_path, monkeypatch):
    monkeypatch.setattr("imageio.v2.get_writer", made := Mock())
    write_video(tmp_path / "film.mp4", [], fps=12, quality=3)
    assert {"fps": 12, "quality": 3}.items() <= made.call_args.kwargs.items()


def test_a_film_that_no_program_can_write_is_a_user_error(tmp_path, monkeypatch):
    monkeypatch.delenv("IMAGEIO_FFMPEG_EXE", raising=False)
    monkeypatch.setattr("imageio_ffmpeg._utils._get_ffmpeg_exe", lambda: None)  # none is found
    frames = [np.zeros((16, 16, 3), np.uint8)]
    with pytest.raises(UserError, match=r"cannot write .*film\.mp4: No ffmpeg exe"):
        write_video(tmp_path / "film.mp4", frames)
    assert not [*tmp_path.iterdir()]
