"""Cuts pictures into the console's 8x8 tiles, without duplicates."""

from cartridge.levels.art.canvas import Image

TILE = 8
HORIZONTAL_FLIP, VERTICAL_FLIP = 0x0800, 0x1000


def packed(tile: Image) -> tuple[int, ...]:
    """Eight words of 32 bits, one per row: 4 bits per pixel, leftmost pixel highest."""
    return tuple(sum(int(p) << (28 - 4 * i) for i, p in enumerate(row)) for row in tile)


class TileSet:
    """Tiles without repetition (a mirrored tile counts as equal), numbered from first."""

    def __init__(self, *, first: int, limit: int):
        self.first, self.limit = first, limit
        self.words: list[tuple[int, ...]] = []
        self._known: dict[tuple[int, ...], int] = {(0,) * TILE: 0}

    def add(self, tile: Image, *, palette: int) -> int:
        """The video chip's word for a tile [8, 8]. Raises ValueError if the set is full."""
        for flip in (0, HORIZONTAL_FLIP, VERTICAL_FLIP, HORIZONTAL_FLIP | VERTICAL_FLIP):
            seen = tile[:, ::-1] if flip & HORIZONTAL_FLIP else tile
            seen = seen[::-1] if flip & VERTICAL_FLIP else seen
            number = self._known.get(packed(seen))
            if number is not None:
                return number | flip | palette << 13
        number = self.first + len(self.words)
        if len(self.words) >= self.limit:
            raise ValueError(f"more than {self.limit} tiles")
        self.words.append(packed(tile))
        self._known[packed(tile)] = number
        return number | palette << 13

    def picture(self, image: Image, *, palette: int) -> list[list[int]]:
        """The words of a picture, [rows][columns]."""
        height, width = image.shape
        return [
            [
                self.add(image[y : y + TILE, x : x + TILE], palette=palette)
                for x in range(0, width, TILE)
            ]
            for y in range(0, height, TILE)
        ]


def sprite_words(image: Image) -> list[tuple[int, ...]]:
    """A sprite's tiles in the order of the video chip: down, then right."""
    height, width = image.shape
    return [
        packed(image[y : y + TILE, x : x + TILE])
        for x in range(0, width, TILE)
        for y in range(0, height, TILE)
    ]
