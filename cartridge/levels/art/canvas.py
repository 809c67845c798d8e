"""Drawing on arrays of palette indices [height, width] uint8, exactly and without smoothing."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Point = tuple[float, float]


def blank(width: int, height: int, colour: int = 0) -> Image:
    """A new image."""
    return np.full((height, width), colour, np.uint8)


def _grid(image: Image) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    height, width = image.shape
    return np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)


def ellipse_mask(image: Image, centre: Point, radii: Point) -> Mask:
    """Pixels whose middles lie in an ellipse."""
    x, y = _grid(image)
    mask: Mask = ((x - centre[0]) / radii[0]) ** 2 + ((y - centre[1]) / radii[1]) ** 2 <= 1.0
    return mask


def polygon_mask(image: Image, points: Sequence[Point]) -> Mask:
    """Pixels whose middles lie in a polygon (even-odd rule)."""
    x, y = _grid(image)
    inside = np.zeros(image.shape, np.bool_)
    for (x0, y0), (x1, y1) in zip(points, [*points[1:], points[0]], strict=True):
        if y0 == y1:
            continue
        crosses = (y0 > y) != (y1 > y)
        inside ^= crosses & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    return inside


def ellipse(image: Image, centre: Point, radii: Point, colour: int) -> None:
    """Fill an ellipse in place."""
    image[ellipse_mask(image, centre, radii)] = colour


def polygon(image: Image, points: Sequence[Point], colour: int) -> None:
    """Fill a polygon in place."""
    image[polygon_mask(image, points)] = colour


def line(image: Image, start: Point, end: Point, colour: int, *, width: float = 1.5) -> None:
    """Draw a line with round ends in place."""
    x, y = _grid(image)
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = max(dx * dx + dy * dy, 1e-9)
    along = np.clip(((x - start[0]) * dx + (y - start[1]) * dy) / length, 0.0, 1.0)
    gap = (x - start[0] - along * dx) ** 2 + (y - start[1] - along * dy) ** 2
    image[gap <= width * width / 4] = colour


def ball(image: Image, centre: Point, radii: Point, colours: Sequence[int]) -> None:
    """A shaded ellipse in place: colours from shadow to light, lit from the upper left."""
    for i, colour in enumerate(colours):
        part = 1.0 - 0.27 * i
        shift = 0.62 * (1.0 - part)
        middle = (centre[0] - shift * radii[0] * 0.8, centre[1] - shift * radii[1])
        lit = ellipse_mask(image, middle, (radii[0] * part + 0.01, radii[1] * part + 0.01))
        image[lit & ellipse_mask(image, centre, radii)] = colour


def paste(image: Image, part: Image, x: int, y: int, colours: Image | None = None) -> None:
    """Draw another image with its left upper corner at x, y, in place, cut at the borders. colours:
    those of its indices, if the image has others."""
    top, left = max(0, -y), max(0, -x)
    part = part[top : max(0, image.shape[0] - y), left : max(0, image.shape[1] - x)]
    spot = image[y + top : y + top + part.shape[0], x + left : x + left + part.shape[1]]
    inks = part[part > 0]
    spot[part > 0] = inks if colours is None else colours[inks]


def outline(image: Image, colour: int) -> None:
    """Turn transparent pixels beside opaque ones into a line, in place."""
    solid = np.pad(image > 0, 1)
    near = solid[:-2, 1:-1] | solid[2:, 1:-1] | solid[1:-1, :-2] | solid[1:-1, 2:]
    image[near & (image == 0)] = colour


def wave(t: float) -> float:
    """A smooth wave of period 1 between -1 and 1, from exact arithmetic on every machine."""
    u = t % 1.0
    return 16 * u * (0.5 - u) if u < 0.5 else -16 * (u - 0.5) * (1.0 - u)


def from_rows(rows: Sequence[str]) -> Image:
    """An image from text: '.' or space transparent, otherwise one hexadecimal digit a pixel."""
    width = max(len(row) for row in rows)
    digits = [[0 if c in ". " else int(c, 16) for c in row.ljust(width)] for row in rows]
    return np.array(digits, np.uint8)
