"""Colours: three octal digits, red green blue, which is all that the console can show."""


def colours(text: str) -> tuple[str, ...]:
    """The colours of a text like "000 731". Raises ValueError for anything else."""
    found = tuple(text.split())
    for colour in found:
        if len(colour) != 3 or not set(colour) <= set("01234567"):
            raise ValueError(f"{colour!r} is not a colour: three digits of 0 to 7 were expected")
    return found


def word(colour: str) -> int:
    """The console's 0000BBB0GGG0RRR0."""
    red, green, blue = (int(digit) for digit in colour)
    return blue << 9 | green << 5 | red << 1
