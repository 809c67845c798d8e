"""Random changes to the images of a batch, the same for all frames of a stack.

Images are [B,F,C,H,W], float from 0 to 255: F frames of C colours. The random numbers `u` [B,k],
from 0 to 1, decide: k of them for each change. Actions and their log-probabilities do not change.
Sources: Laskin et al., arXiv:2004.14990 (RAD); the ranges of the geometric changes are those of the
Procgen competition's ttumiel/procgen-competition. Differs: jitter does not change the hue.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from retro_agents.ground.errors import UserError

GREY = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in the brightness."""


def flip(images: Tensor, u: Tensor) -> Tensor:
    """Mirrors images left to right with a chance of one half, and upside down likewise."""
    across, down = (u < 0.5)[:, :, None, None, None, None].unbind(1)
    images = torch.where(across, images.flip(4), images)
    return torch.where(down, images.flip(3), images)


def rotate(images: Tensor, u: Tensor) -> Tensor:
    """Rotates by up to 20 degrees either way; uncovered pixels are black."""
    angle = (2.0 * u[:, 0] - 1.0) * math.radians(20.0)
    height, width = images.shape[3:]
    cos, sin, zero = angle.cos(), angle.sin(), torch.zeros_like(angle)
    rows = [cos, -sin * height / width, zero], [sin * width / height, cos, zero]
    return _sampled(images, rows, padding="zeros")


def resized_crop(images: Tensor, u: Tensor) -> Tensor:
    """Enlarges a random part, 3/4 to all of height and width, to the whole image."""
    share = 0.75 + 0.25 * u[:, 0]
    left, top = ((1.0 - share)[:, None] * (2.0 * u[:, 1:] - 1.0)).unbind(1)
    zero = torch.zeros_like(share)
    return _sampled(images, ([share, zero, left], [zero, share, top]), padding="border")


def zoom(images: Tensor, u: Tensor) -> Tensor:
    """Moves by up to 15 % of height and width, and scales by up to 10 % either way; pixels beyond
    the border are mirrored."""
    signed = 2.0 * u - 1.0
    scale, (right, down) = 1.0 + 0.1 * signed[:, 0], (0.3 * signed[:, 1:]).unbind(1)
    zero = torch.zeros_like(scale)
    return _sampled(images, ([scale, zero, right], [zero, scale, down]), padding="reflection")


def roll(images: Tensor, u: Tensor) -> Tensor:
    """Moves by up to an eighth of height and width; pixels that leave on one side enter on the
    other."""
    return _moved(images, u, reach=1 / 8, index=lambda at, size: at % size)


def pad_crop(images: Tensor, u: Tensor) -> Tensor:
    """Pads by 10/64 of height and width with mirrored pixels, then crops at a random place."""

    def mirrored(at: Tensor, size: int) -> Tensor:
        at = at.abs()
        return torch.where(at < size, at, 2 * (size - 1) - at)

    return _moved(images, u, reach=10 / 64, index=mirrored)


def cutout(images: Tensor, u: Tensor) -> Tensor:
    """Blackens a rectangle of 7/64 to 22/64 of height and width."""
    return torch.where(_rectangle(images, u), 0.0, images)


def cutout_colour(images: Tensor, u: Tensor) -> Tensor:
    """Fills a rectangle, as large as that of `cutout`, with one colour."""
    colour = 255.0 * u[:, None, 4 : 4 + images.shape[2], None, None]
    return torch.where(_rectangle(images, u[:, :4]), colour, images)


def grey(images: Tensor, u: Tensor) -> Tensor:
    """Sets each colour to the brightness."""
    return _brightness(images).expand_as(images)


def jitter(images: Tensor, u: Tensor) -> Tensor:
    """Multiplies brightness, contrast and saturation by 0.6 to 1.4, in this order."""
    gain, contrast, colours = (0.6 + 0.8 * u)[:, :, None, None, None, None].unbind(1)
    images = images * gain
    mean = _brightness(images).mean(dim=(1, 2, 3, 4), keepdim=True)
    images = mean + contrast * (images - mean)
    brightness = _brightness(images)
    return (brightness + colours * (images - brightness)).clamp(0.0, 255.0)


def random_convolution(images: Tensor, u: Tensor) -> Tensor:
    """Passes colours through a 3×3 convolution of random Glorot weights and a sigmoid.

    Source: Lee et al., arXiv:1910.05396.
    """
    count, frames, colours, height, width = images.shape
    bound = math.sqrt(6.0 / (2 * 9 * colours))
    weights = (bound * (2.0 * u - 1.0)).view(count * colours, colours, 3, 3)
    flat = images.transpose(0, 1).reshape(frames, count * colours, height, width) / 255.0
    out = functional.conv2d(flat, weights, padding=1, groups=count).sigmoid() * 255.0
    return out.view(frames, count, colours, height, width).transpose(0, 1)


Change = Callable[[Tensor, Tensor], Tensor]
AUGMENTATIONS: dict[str, tuple[Change, Callable[[int], int]]] = {
    "flip": (flip, lambda colours: 2),
    "rotate": (rotate, lambda colours: 1),
    "resized-crop": (resized_crop, lambda colours: 3),
    "zoom": (zoom, lambda colours: 3),
    "roll": (roll, lambda colours: 2),
    "pad-crop": (pad_crop, lambda colours: 2),
    "cutout": (cutout, lambda colours: 4),
    "cutout-colour": (cutout_colour, lambda colours: 4 + colours),
    "grey": (grey, lambda colours: 0),
    "jitter": (jitter, lambda colours: 3),
    "convolution": (random_convolution, lambda colours: 9 * colours**2),
}
"""Name -> (function, its number of random numbers for frames of a given number of colours)."""


class Augmentation:
    """Applies some of the changes in order, each to a share of the rows.

    Source: ttumiel/procgen-competition, transforms.py, where each change is also drawn separately.
    """

    def __init__(self, names: str, *, share: float, colours: int) -> None:
        """names: keys of AUGMENTATIONS, separated by commas. share: of the rows that each changes.
        colours: of one frame, 1 or 3. Raises UserError for unknown names, and for grey without
        colour."""
        self.names = [name.strip() for name in names.split(",")]
        self.share, self.colours = share, colours
        for name in self.names:
            if name not in AUGMENTATIONS:
                known = ", ".join(AUGMENTATIONS)
                raise UserError(
                    f"unknown --augment {name!r}: expected {known}, separated by commas"
                )
            if name == "grey" and colours == 1:
                raise UserError("--augment grey is for images in colour; these are grey already")
        self.counts = [AUGMENTATIONS[name][1](colours) for name in self.names]
        self.draws = sum(1 + count for count in self.counts)
        """Random numbers per row: for each change, whether to apply it, then how."""

    def __call__(self, obs: Tensor, u: Tensor) -> Tensor:
        """Changes images. obs uint8 [B,F·C,H,W], u [B,draws] from 0 to 1 -> [B,F·C,H,W]."""
        assert u.shape == (len(obs), self.draws)
        parts = u.split([1 + count for count in self.counts], dim=1)
        for name, part in zip(self.names, parts, strict=True):
            rows = (part[:, 0] < self.share).nonzero().squeeze(1)
            if len(rows):  # some changes fail without images
                images = obs[rows].unflatten(1, (-1, self.colours)).float()
                images = AUGMENTATIONS[name][0](images, part[rows, 1:])
                changed = images.round().clamp(0.0, 255.0).to(torch.uint8).flatten(1, 2)
                obs = obs.index_copy(0, rows, changed)
        return obs


def _sampled(images: Tensor, rows: Sequence[Sequence[Tensor]], *, padding: str) -> Tensor:
    """Samples each pixel from the place to which its image's matrix [2,3] maps it, in units of half
    an image from the middle; the same for all frames."""
    matrix = torch.stack([torch.stack(list(row), dim=1) for row in rows], dim=1)
    flat = images.flatten(1, 2)
    grid = functional.affine_grid(matrix, list(flat.shape), align_corners=False)
    pixels = functional.grid_sample(flat, grid, padding_mode=padding, align_corners=False)
    return pixels.view(images.shape)


def _moved(
    images: Tensor, u: Tensor, *, reach: float, index: Callable[[Tensor, int], Tensor]
) -> Tensor:
    """Moves by whole pixels, up to `reach` of width (u[:,0]) and height. index: (places that may
    lie beyond the border, size) -> places inside."""
    for axis, numbers in ((4, u[:, 0]), (3, u[:, 1])):
        size = images.shape[axis]
        most = round(reach * size)
        offset = ((2 * most + 1) * numbers).floor().long().clamp(max=2 * most) - most
        at = index(torch.arange(size, device=u.device) + offset[:, None], size)
        shape = [len(at), 1, 1, 1, 1]
        shape[axis] = size
        images = images.gather(axis, at.view(shape).expand_as(images))
    return images


def _rectangle(images: Tensor, u: Tensor) -> Tensor:
    """A mask [B,1,1,H,W] of each row's rectangle."""
    inside = []
    for axis, (length, start) in ((3, u[:, :2].unbind(1)), (4, u[:, 2:].unbind(1))):
        size = images.shape[axis]
        length = (7.0 + 15.0 * length) / 64.0 * size
        first = start * (size - length)
        at = torch.arange(size, device=u.device) + 0.5
        inside.append((at > first[:, None]) & (at < (first + length)[:, None]))
    return (inside[0][:, :, None] & inside[1][:, None, :])[:, None, None]


def _brightness(images: Tensor) -> Tensor:
    """The brightness. [B,F,C,H,W] -> [B,F,1,H,W]."""
    if images.shape[2] == 1:
        return images
    weights = torch.tensor(GREY, device=images.device)[:, None, None]
    return (images * weights).sum(dim=2, keepdim=True)
