import numpy as np
import pytest

from retro_agents.ground.film import enlarged


@pytest.mark.parametrize("scale", [1, 2, 3, 8])
def test_an_enlarged_picture_has_every_pixel_as_a_square(scale):
    image = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    large = enlarged(image, scale)
    assert large.dtype == np.uint8
    np.testing.assert_array_equal(large, image.repeat(scale, axis=0).repeat(scale, axis=1))
