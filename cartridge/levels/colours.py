"""Colours: three octal digits, red green blue, the console's full range."""


def colours(text: str) -> tuple[str, ...]:
    """Parses colours in a text like "000 731". Raises ValueError for any other text."""
    parts = tuple(text.split())
    for colour in parts:
        if len(colour) != 3 or not set(colour) <= set("01234567"):
            raise ValueError(f"{colour!r} is not a colour: three digits of 0 to 7 were expected")
    return parts


def word(colour: str) -> int:
    """The console's word for a colour, 0000BBB0GGG0RRR0."""
    red, green, blue = (int(digit) for digit in colour)
    return blue << 9 | green << 5 | red << 1
