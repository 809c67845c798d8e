"""Area averaging against the definition, in exact fractions."""

import numpy as np
import pytest

from retro_agents.games.retro.shrink import AreaShrinker


def by_area(grey, height, width):
    """Exact mean over the area that each output pixel covers, rounded half up. grey [H, W]."""

    def matrix(source, target):
        ends = np.minimum.outer((np.arange(target) + 1) * source, (np.arange(source) + 1) * target)
        starts = np.maximum.outer(np.arange(target) * source, np.arange(source) * target)
        return np.maximum(ends - starts, 0.0)  # of whole numbers, which BLAS multiplies exactly

    sums = matrix(grey.shape[0], height) @ grey @ matrix(grey.shape[1], width).T
    count = grey.size
    return ((2 * sums + count) // (2 * count)).astype(np.uint8)


@pytest.mark.parametrize("target", [(84, 84), (8, 16), (7, 11), (30, 6)])
def test_equals_the_mean_over_the_covered_area_of_pictures_of_any_size(target):
    shrink = AreaShrinker(height=target[0], width=target[1])
    for source in ((224, 320, 1), (224, 320, 3), (24, 32, 3), (30, 20, 1)):
        image = np.random.default_rng(0).integers(0, 256, source).astype(np.uint8)
        for colour, ours in enumerate(shrink(image)):
            np.testing.assert_array_equal(ours, by_area(image[:, :, colour], *target))
        assert (shrink(np.full(source, 255, np.uint8)) == 255).all()
