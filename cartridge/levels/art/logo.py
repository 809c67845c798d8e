"""The title's logo, 224x80 pixels. Colours as in art/hero.py."""

import numpy as np

from cartridge.levels.art.canvas import (
    Image,
    Mask,
    ball,
    blank,
    ellipse,
    from_rows,
    line,
    paste,
    polygon,
    wave,
)
from cartridge.levels.art.hero import hero_frames
from cartridge.levels.art.hud import GLYPHS

WIDTH, HEIGHT = 224, 80
FIRE = (6, 11, 11, 5, 5, 4, 4, 3)
ICE = (6, 6, 10, 10, 10, 9, 9, 8)
"""Colours from the top of a letter to its bottom."""


def doubled(mask: Mask) -> Mask:
    """The mask twice as large, with smoothed corners (the EPX rule)."""
    around = np.pad(mask, 1)
    up, down = around[:-2, 1:-1], around[2:, 1:-1]
    left, right = around[1:-1, :-2], around[1:-1, 2:]
    made = mask.repeat(2, 0).repeat(2, 1)
    corners = (
        ((0, 0), up, left, down, right),
        ((0, 1), up, right, down, left),
        ((1, 0), down, left, up, right),
        ((1, 1), down, right, up, left),
    )
    for (y, x), first, second, third, fourth in corners:
        takes = (first == second) & (first != third) & (second != fourth)
        made[y::2, x::2] = np.where(takes, first, mask)
    return made


def letters(word: str, *, lean: bool) -> Mask:
    """A word in letters of 20x28 pixels, four apart; leaning by a pixel every four rows."""
    mask = np.zeros((28, 24 * len(word) + 8), np.bool_)
    for i, name in enumerate(word):
        small = from_rows([row.replace("#", "1") for row in GLYPHS[name]]) > 0
        mask[:, 24 * i : 24 * i + 20] = doubled(doubled(small))
    if lean:
        for y in range(28):
            mask[y] = np.roll(mask[y], 7 - y // 4)
    return mask


def write(image: Image, word: str, *, at: tuple[int, int], fill: tuple[int, ...]) -> None:
    """Letters with a thick edge and a shadow, in place."""
    x, y = at
    mask = letters(word, lean=fill is ICE)
    spot = np.zeros(image.shape, np.bool_)
    spot[y : y + mask.shape[0], x : x + mask.shape[1]] = mask
    edge = grown(grown(spot))
    image[np.roll(edge, (3, 2), (0, 1))] = 2
    image[edge] = 1
    for row in range(mask.shape[0]):
        image[y + row][spot[y + row]] = fill[row * len(fill) // mask.shape[0]]
    light = spot & ~np.roll(spot, 1, 0)
    image[light] = 6


def grown(mask: Mask) -> Mask:
    """The mask, larger by a pixel on all sides."""
    wide = mask | np.roll(mask, 1, 1) | np.roll(mask, -1, 1)
    large: Mask = wide | np.roll(wide, 1, 0) | np.roll(wide, -1, 0)
    return large


def bramble(image: Image) -> None:
    """A thorny twig with leaves and berries, in place."""
    for x in range(6, 218):
        y = 39 + round(3 * wave(x / 72))
        image[y - 2 : y + 3, x] = 1
        image[y - 1 : y + 2, x] = 14
        if x % 17 == 0:
            side = 1 if x % 2 else -1
            polygon(image, [(x - 3, y), (x + 3, y), (x + 1, y + side * 7)], 1)
            polygon(image, [(x - 1.6, y), (x + 1.6, y), (x + 0.6, y + side * 5)], 6)
    for x in (14, 64, 112, 176, 208):
        y = 39 + round(3 * wave(x / 72))
        ellipse(image, (x + 5, y - 4), (6, 3.4), 1)
        ellipse(image, (x + 5, y - 4), (4.8, 2.4), 14)
        line(image, (x + 1, y - 3.4), (x + 8, y - 4.4), 5, width=0.9)
        ellipse(image, (x - 4, y + 4), (4, 4), 1)
        ball(image, (x - 4, y + 4), (3, 3), (8, 9, 10))


def logo() -> Image:
    """The picture [80, 224]."""
    image = blank(WIDTH, HEIGHT)
    bramble(image)
    write(image, "BRAMBLE", at=(28, 4), fill=FIRE)
    write(image, "DASH", at=(66, 46), fill=ICE)
    for y, start, end in ((50, 34, 58), (57, 22, 56), (64, 38, 56), (71, 28, 54)):
        image[y - 1 : y + 3, start - 1 : end + 1] = 1
        image[y : y + 2, start:end] = 6
    paste(image, hero_frames()[2], 172, 44)
    return image
