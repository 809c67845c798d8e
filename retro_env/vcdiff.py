"""VCDIFF deltas (RFC 3284): decode(delta, source) -> target.

Reads what xdelta3 writes without secondary compression: the default code table, windows that copy
from the source or from the target so far, xdelta's Adler-32 per window and application header.
Everything that is cut off, contradicts itself or does not fit the source is a UserError.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from experiment.errors import UserError

MAGIC = b"\xd6\xc3\xc4"
NOOP, ADD, RUN, COPY = range(4)
Half = tuple[int, int, int]
"""One half of a code table entry: kind, size (0: the size follows as an integer), copy mode."""
NO_HALF: Half = (NOOP, 0, 0)
NEAR, SAME = 4, 3
MAX_TARGET = 64 << 20
"""Bytes a target may have: twice the largest ROM there is, so that garbage cannot fill memory."""


def default_code_table() -> list[tuple[Half, Half]]:
    """What each of the 256 instruction bytes does. Source: RFC 3284, section 5.6."""
    modes = range(2 + NEAR + SAME)
    table: list[tuple[Half, Half]] = [((RUN, 0, 0), NO_HALF)]
    table += [((ADD, size, 0), NO_HALF) for size in range(18)]
    table += [((COPY, size, mode), NO_HALF) for mode in modes for size in (0, *range(4, 19))]
    for mode, add, copy in product(modes, range(1, 5), range(4, 7)):
        if mode < 6 or copy == 4:
            table.append(((ADD, add, 0), (COPY, copy, mode)))
    return table + [((COPY, 4, mode), (ADD, 1, 0)) for mode in modes]


CODE_TABLE = default_code_table()


class Reader:
    """Reads bytes and integers one after the other; past the end is a UserError."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name
        self.at = 0

    def ended(self) -> bool:
        """Whether everything has been read."""
        return self.at == len(self.data)

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        taken = self.data[self.at : self.at + count]
        if len(taken) != count:
            raise UserError(f"{self.name} is cut off or damaged: it ends where more must follow")
        self.at += count
        return taken

    def byte(self) -> int:
        """The next byte."""
        return self.take(1)[0]

    def integer(self) -> int:
        """An integer: seven bits per byte, highest first, the top bit set on all but the last."""
        value = 0
        for _ in range(9):
            byte = self.byte()
            value = value << 7 | byte & 127
            if byte < 128:
                return value
        raise UserError(f"{self.name} is damaged: an integer has more than 63 bits")


@dataclass(frozen=True)
class Window:
    """One part of the delta. position, length: of the segment it copies from."""

    from_target: bool
    position: int
    length: int
    target_length: int
    additions: bytes
    instructions: bytes
    addresses: bytes
    adler32: int | None


def parse(delta: bytes, *, name: str = "the delta") -> Iterator[Window]:
    """The windows of a delta, one after the other. Errors: UserError."""
    reader = Reader(delta, name)
    if delta[:3] != MAGIC:
        raise UserError(f"{name} is not a VCDIFF delta: it does not begin with its three bytes")
    reader.take(3)
    if (version := reader.byte()) != 0:
        raise UserError(f"{name} has VCDIFF version {version}: only version 0 (RFC 3284) is known")
    flags = reader.byte()
    if flags & ~0b101:
        raise UserError(f"{name} brings a code table of its own: only RFC 3284's default is known")
    if flags & 0b001:  # names a compressor, which a window need not have used
        reader.byte()
    if flags & 0b100:
        reader.take(reader.integer())
    while not reader.ended():
        yield parse_window(reader)


def parse_window(reader: Reader) -> Window:
    """The window that begins where the reader is. Source: RFC 3284, section 4.2 and 4.3."""
    name, flags = reader.name, reader.byte()
    if flags & ~0b111 or flags & 0b011 == 0b011:
        raise UserError(f"{name} is damaged: a window says {flags:#x} of itself")
    length = reader.integer() if flags & 0b011 else 0
    position = reader.integer() if flags & 0b011 else 0
    window = Reader(reader.take(reader.integer()), name)
    target_length = window.integer()
    if window.byte() != 0:
        raise UserError(
            f"{name} has secondary compression, which is not known here: "
            "make it again with `xdelta3 -S none`"
        )
    sizes = window.integer(), window.integer(), window.integer()
    adler32 = int.from_bytes(window.take(4), "big") if flags & 0b100 else None
    sections = [window.take(size) for size in sizes]
    if not window.ended():
        raise UserError(f"{name} is damaged: a window is longer than its parts")
    return Window(
        from_target=bool(flags & 0b010),
        position=position,
        length=length,
        target_length=target_length,
        additions=sections[0],
        instructions=sections[1],
        addresses=sections[2],
        adler32=adler32,
    )


class AddressCache:
    """Addresses of copies, written relative to recent ones. Source: RFC 3284, section 5.3."""

    def __init__(self, addresses: Reader) -> None:
        self.addresses = addresses
        self.near = [0] * NEAR
        self.oldest = 0
        self.same = [0] * (SAME * 256)

    def read(self, mode: int, here: int) -> int:
        """The next copy's address; `here` is where it writes to."""
        if mode == 0:
            address = self.addresses.integer()
        elif mode == 1:
            address = here - self.addresses.integer()
        elif mode < 2 + NEAR:
            address = self.near[mode - 2] + self.addresses.integer()
        else:
            address = self.same[(mode - 2 - NEAR) * 256 + self.addresses.byte()]
        self.near[self.oldest] = address
        self.oldest = (self.oldest + 1) % NEAR
        self.same[address % len(self.same)] = address
        return address


def execute(window: Window, segment: bytes, *, name: str = "the delta") -> bytes:
    """Carry out a window's instructions on its segment; the checksum is not looked at."""
    additions, instructions, addresses = (
        Reader(part, name) for part in (window.additions, window.instructions, window.addresses)
    )
    cache = AddressCache(addresses)
    output = bytearray(segment)  # RFC's U: the segment, then the target behind it
    end = len(segment) + window.target_length
    while not instructions.ended():
        for kind, table_size, mode in CODE_TABLE[instructions.byte()]:
            if kind == NOOP:
                continue
            size = table_size or instructions.integer()
            if size > end - len(output):
                raise UserError(f"{name} is damaged: a window writes past its end")
            if kind == ADD:
                output += additions.take(size)
            elif kind == RUN:
                output += additions.take(1) * size
            else:
                address = cache.read(mode, len(output))
                if not 0 <= address < len(output):
                    raise UserError(f"{name} is damaged: it copies from outside its window")
                piece = output[address : address + size]
                # A copy may read what it writes: the piece between repeats. It may be empty.
                output += (piece * (size // max(1, len(piece)) + 1))[:size]
    if len(output) != end or not (additions.ended() and addresses.ended()):
        raise UserError(f"{name} is damaged: a window's instructions and parts differ in length")
    return bytes(output[len(segment) :])


def decode(delta: bytes, source: bytes, *, name: str = "the delta") -> bytes:
    """Apply a VCDIFF delta to the file it was made against. name: for messages.

    Errors: UserError for a damaged delta, secondary compression, or another source.
    """
    target = bytearray()
    for window in parse(delta, name=name):
        origin = target if window.from_target else source
        segment = bytes(origin[window.position : window.position + window.length])
        if len(segment) != window.length:
            raise UserError(f"{name} does not fit: it was made against a longer file")
        if len(target) + window.target_length > MAX_TARGET:
            raise UserError(f"{name} would make a file of more than {MAX_TARGET >> 20} MiB")
        part = execute(window, segment, name=name)
        if window.adler32 is not None and zlib.adler32(part) != window.adler32:
            raise UserError(f"{name} does not fit: it was made against another file, or is damaged")
        target += part
    return bytes(target)
