"""The hero: a small bramble fox with a scarf, 32x32 pixels, feet on the bottom row.

Colours of palette line 0: 1 outline; 2-5 fur, dark to light; 6, 7 white and cream; 8-a scarf, dark
to light; b, c gold; d black; e, f leaf and grey."""

from dataclasses import dataclass

import numpy as np

from cartridge.levels.art.canvas import (
    Image,
    Mask,
    Point,
    ball,
    blank,
    ellipse,
    ellipse_mask,
    from_rows,
    line,
    outline,
    paste,
    polygon,
    polygon_mask,
)
from cartridge.levels.colours import colours

COLOURS = colours("000 100 410 620 730 752 777 653 024 046 267 770 540 000 251 333")
FUR = (2, 3, 4)

HEAD = (
    ".....2.........2........",
    "....232.......232.......",
    "....2d42.....24d2.......",
    "....2dd42...24dd2.......",
    "....23d432223433d2......",
    "....2344445444432.......",
    "...23445555444443.......",
    "...2344555444444432.....",
    "..2344444446dd6444433...",
    "..2344444446dd64444444dd",
    "..2346644446dd6444466ddd",
    "..2766664444446644666667",
    "..2266666444446666666672",
    "...2766666666666666772..",
    ".....2776666666667722...",
    ".......2777766772.......",
)
"""The head, looking right; its middle is at (11, 9)."""
SHUT_EYE = {(11, 8): 4, (12, 8): 13, (13, 8): 4, (14, 8): 4, (11, 10): 4, (14, 10): 4}


@dataclass(frozen=True)
class Pose:
    """Positions of the parts, in pixels from the top left of the frame."""

    head: Point
    hips: Point
    feet: tuple[Point, Point]
    tail: tuple[Point, Point]
    hand: Point
    scarf: Point
    awake: bool = True


def fox(pose: Pose) -> Image:
    """Draw a pose, back to front."""
    image = blank(32, 32)
    _tail(image, pose)
    _leg(image, pose, 1, colours=(2, 2))
    neck = (pose.head[0] - 1, pose.head[1] + 6)
    middle = ((neck[0] + pose.hips[0]) / 2, (neck[1] + pose.hips[1]) / 2)
    line(image, neck, pose.hips, 3, width=9)
    line(image, (neck[0] - 2, neck[1]), (pose.hips[0] - 2, pose.hips[1]), 2, width=4)
    ellipse(image, (middle[0] + 2.5, middle[1] + 1), (2.6, 4.2), 6)
    _leg(image, pose, 0, colours=(3, 4))
    line(image, (middle[0], middle[1] - 2), pose.hand, 4, width=2.6)
    ellipse(image, pose.hand, (1.6, 1.6), 2)
    _scarf(image, neck, pose.scarf)
    outline(image, 1)
    _head(image, pose)
    return image


def _tail(image: Image, pose: Pose) -> None:
    root, tip = pose.tail
    for i, (part, radius) in enumerate(((0.1, 2.4), (0.4, 3.8), (0.7, 4.2), (1.0, 3.0))):
        x = pose.hips[0] + (root[0] - pose.hips[0]) * min(1, 2 * part)
        y = pose.hips[1] + (root[1] - pose.hips[1]) * min(1, 2 * part)
        if part > 0.5:
            x, y = root[0] + (tip[0] - root[0]) * part, root[1] + (tip[1] - root[1]) * part
        ball(image, (x, y), (radius, radius), (7, 6) if i == 3 else FUR)


def _leg(image: Image, pose: Pose, which: int, *, colours: tuple[int, int]) -> None:
    x, y = pose.feet[which]
    start = (pose.hips[0] + (1 if which == 0 else -1), pose.hips[1] + 1)
    line(image, start, (x, y - 2), colours[1], width=3.6)
    line(image, (x, y - 1.2), (x + 2, y - 1.2), 13 if colours[0] == 2 else 2, width=2.8)


def _scarf(image: Image, neck: Point, end: Point) -> None:
    line(image, (neck[0] - 3, neck[1]), end, 8, width=3.4)
    line(image, (neck[0] - 3, neck[1] - 0.7), (end[0], end[1] - 0.7), 9, width=2.2)
    line(image, (neck[0] - 3.5, neck[1]), (neck[0] + 4, neck[1] + 0.5), 9, width=4)
    line(image, (neck[0] - 3, neck[1] - 1), (neck[0] + 3.5, neck[1] - 0.5), 10, width=1.5)


def _head(image: Image, pose: Pose) -> None:
    head = blank(26, 18)
    head[1:17, 1:25] = from_rows(HEAD)
    if not pose.awake:
        for (x, y), colour in SHUT_EYE.items():
            head[y + 1, x + 1] = colour
    outline(head, 1)
    paste(image, head, round(pose.head[0]) - 12, round(pose.head[1]) - 10)


STAND = Pose(
    head=(17, 11),
    hips=(15, 24),
    feet=((18, 32), (13, 32)),
    tail=((7, 24), (4, 15)),
    hand=(19, 23),
    scarf=(8, 19),
)
RUN = (
    Pose((19, 11), (13, 22), ((22, 31), (6, 27)), ((6, 20), (1, 16)), (21, 22), (6, 13)),
    Pose((19, 10), (13, 22), ((16, 32), (11, 29)), ((6, 21), (1, 18)), (19, 24), (6, 15)),
    Pose((19, 11), (13, 22), ((7, 27), (22, 31)), ((6, 20), (1, 15)), (15, 24), (6, 14)),
    Pose((19, 10), (13, 22), ((11, 29), (16, 32)), ((6, 21), (1, 17)), (18, 24), (6, 16)),
)
CROUCH = Pose((18, 20), (12, 26), ((17, 32), (11, 32)), ((6, 27), (2, 21)), (19, 29), (7, 22))
FALL = Pose((17, 10), (14, 22), ((20, 31), (8, 28)), ((6, 18), (3, 8)), (24, 15), (7, 9))
HURT = Pose(
    (14, 11), (17, 22), ((24, 29), (21, 32)), ((12, 28), (6, 30)), (24, 19), (24, 12), awake=False
)


def rolled() -> list[Image]:
    """Four frames of the rolled-up hero: nose in the tail, the scarf around his middle."""
    curl = blank(30, 30)
    middle = (15, 15)
    ball(curl, middle, (13.8, 13.8), (2, 3, 4, 5))
    curl[_ring(curl, 8.6, 13.8) & polygon_mask(curl, [middle, (2, 10), (2, 30), (16, 30)])] = 7
    curl[_ring(curl, 9.8, 13.8) & polygon_mask(curl, [middle, (0, 12), (0, 22), (8, 30)])] = 6
    curl[_ring(curl, 7.6, 8.8) & polygon_mask(curl, [middle, (0, 4), (0, 30), (22, 30)])] = 2
    line(curl, (10, 22), (24, 18), 8, width=4.5)
    line(curl, (10, 21), (24, 17), 9, width=3)
    line(curl, (11, 20.5), (22, 17), 10, width=1)
    polygon(curl, [(16, 8), (25, 1), (25, 12)], 2)
    polygon(curl, [(17, 8), (24, 3), (23, 10)], 13)
    polygon(curl, [(9, 7), (14, 0), (18, 8)], 4)
    line(curl, (9, 13), (13, 14), 13, width=1.4)
    curl[~ellipse_mask(curl, middle, (13.9, 13.9))] = 0
    outline(curl, 1)
    frames = []
    for turns in range(4):
        frame = blank(32, 32)
        frame[2:32, 1:31] = np.rot90(curl, -turns)
        frames.append(frame)
    return frames


def _ring(image: Image, inner: float, outer: float) -> Mask:
    middle = (image.shape[1] / 2, image.shape[0] / 2)
    hole = ellipse_mask(image, middle, (inner, inner))
    return ellipse_mask(image, middle, (outer, outer)) & ~hole


def hero_frames() -> list[Image]:
    """Stand, four of running, four of rolling, crouch, hurt: 32x32 each."""
    return [fox(STAND), *(fox(pose) for pose in RUN), *rolled(), fox(CROUCH), fox(HURT)]


def falling() -> Image:
    """The hero thrown up or falling, not rolled up: 32x32."""
    return fox(FALL)
