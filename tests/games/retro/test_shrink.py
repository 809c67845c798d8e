"""Area averaging against the definition, in exact fractions."""

import cv2
import numpy as np
import pytest

from retro_agents.games.retro.shrink import AreaShrinker


def by_definition(image, height, width):
    """Mean over the covered area: every pixel enlarged to target size, then averaged in blocks."""
    source_height, source_width, colours = image.shape
    large = image.astype(np.int64).repeat(height, axis=0).repeat(width, axis=1)
    blocks = large.reshape(height, source_height, width, source_width, colours)
    sums, count = blocks.sum((1, 3)), source_height * source_width
    return ((2 * sums + count) // (2 * count)).transpose(2, 0, 1).astype(np.uint8)


@pytest.mark.parametrize(
    ("source", "target"),
    [((224, 320), (84, 84)), ((24, 32), (8, 16)), ((30, 20), (7, 11)), ((5, 6), (9, 6))],
)
@pytest.mark.parametrize("colours", [1, 3])
def test_equals_the_mean_over_the_covered_area(source, target, colours):
    image = np.random.default_rng(0).integers(0, 256, (*source, colours)).astype(np.uint8)
    if source == (224, 320):
        image = image[:, :, :1].repeat(colours, axis=2)
        small = AreaShrinker(height=84, width=84)(image)
        opencv = cv2.resize(image[:, :, 0], (84, 84), interpolation=cv2.INTER_AREA)
        assert np.abs(small[0].astype(int) - opencv).max() <= 1
        assert (small != opencv).mean() < 0.01
        return
    ours = AreaShrinker(height=target[0], width=target[1])(image)
    np.testing.assert_array_equal(ours, by_definition(image, *target))


def test_follows_a_picture_that_changes_its_size():
    shrink = AreaShrinker(height=4, width=4)
    for size in ((8, 8), (12, 16), (8, 8)):
        image = np.random.default_rng(1).integers(0, 256, (*size, 3)).astype(np.uint8)
        np.testing.assert_array_equal(shrink(image), by_definition(image, 4, 4))


def test_a_white_picture_stays_white():
    white = np.full((224, 320, 3), 255, np.uint8)
    assert (AreaShrinker(height=84, width=84)(white) == 255).all()
