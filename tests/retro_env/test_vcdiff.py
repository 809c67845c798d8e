"""The VCDIFF decoder, against RFC 3284's rules, an encoder of the tests' own, and xdelta3."""

import random
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest
from stable_retro import data

from experiment.errors import UserError
from retro_env.vcdiff import CODE_TABLE, decode, execute, parse

XDELTA3 = shutil.which("xdelta3")
DELTAS = sorted((Path(data.path()) / "contrib").glob("*/rom.delta"))
HEAD = bytes.fromhex("d6c3c4 00 00")
ADD, RUN, COPY = 1, 2, 3


def integer(value: int) -> bytes:
    """RFC 3284, section 2: base 128, highest digit first."""
    digits = [value & 127]
    while value := value >> 7:
        digits.insert(0, 128 | value & 127)
    return bytes(digits)


def window(target_length: int, additions: bytes, instructions: bytes, addresses: bytes, **more):
    """One window; more: extent=(length, position), flags, adler (bytes), indicator."""
    flags, adler = more.get("flags", 0), more.get("adler", b"")
    extent = b"".join(integer(number) for number in more.get("extent", ()))
    sizes = b"".join(integer(len(part)) for part in (additions, instructions, addresses))
    body = integer(target_length) + bytes([more.get("indicator", 0)]) + sizes + adler
    body += additions + instructions + addresses
    return bytes([flags | (4 if adler else 0)]) + extent + integer(len(body)) + body


class Encoder:
    """Writes a window's instructions; chooses address modes and paired codes as it is told."""

    def __init__(self, segment: bytes, rng: random.Random) -> None:
        self.segment, self.rng = segment, rng
        self.target = bytearray()
        self.additions, self.instructions, self.addresses = bytearray(), bytearray(), bytearray()
        self.near, self.turn, self.same = [0, 0, 0, 0], 0, {}

    def add(self, what: bytes) -> None:
        fits = len(what) <= 17 and self.rng.random() < 0.7 and what
        self.instructions += bytes([1 + len(what)]) if fits else b"\x01" + integer(len(what))
        self.put(what)

    def put(self, what: bytes) -> None:
        self.additions += what
        self.target += what

    def run(self, byte: int, size: int) -> None:
        self.instructions += b"\x00" + integer(size)
        self.additions.append(byte)
        self.target += bytes([byte]) * size

    def copy(self, address: int, size: int) -> None:
        mode = self.address(address)
        fits = 4 <= size <= 18 and self.rng.random() < 0.7
        code = 19 + 16 * mode
        self.instructions += bytes([code + size - 3]) if fits else bytes([code]) + integer(size)
        self.copied(address, size)

    def copied(self, address: int, size: int) -> None:
        for at in range(address, address + size):  # byte by byte, as the RFC defines it
            self.target.append((self.segment + self.target)[at])

    def add_then_copy(self, what: bytes, address: int) -> None:
        """One code for both; a copy of 4 exists in every mode."""
        here = len(self.target) + len(what) + len(self.segment)
        mode = self.address(address, here)
        base = 163 + 12 * mode if mode < 6 else 235 + 4 * (mode - 6)
        step = 3 if mode < 6 else 1
        self.instructions.append(base + step * (len(what) - 1))
        self.put(what)
        self.copied(address, 4)

    def copy_then_add(self, address: int, byte: int) -> None:
        self.instructions.append(247 + self.address(address))
        self.copied(address, 4)
        self.put(bytes([byte]))

    def address(self, address: int, here: int | None = None) -> int:
        """Write an address in any mode that can say it: returns the mode."""
        here = len(self.segment) + len(self.target) if here is None else here
        ways = [(0, integer(address)), (1, integer(here - address))]
        ways += [(2 + i, integer(address - n)) for i, n in enumerate(self.near) if n <= address]
        slot = address % 768
        if self.same.get(slot, 0) == address:
            ways += [(6 + slot // 256, bytes([slot % 256]))] * 3
        mode, written = self.rng.choice(ways)
        self.addresses += written
        self.near[self.turn], self.turn = address, (self.turn + 1) % 4
        self.same[slot] = address
        return mode


def random_window(rng: random.Random, segment: bytes, **more) -> tuple[bytes, bytes]:
    """A window of random instructions and the target that it stands for."""
    encoder = Encoder(segment, rng)
    for _ in range(rng.randrange(1, 40)):
        there = len(segment) + len(encoder.target)
        # Few addresses, so that the caches are hit.
        address = rng.choice([rng.randrange(there), 7 % there, 800 % there]) if there else None
        what = rng.choice(["add", "run", "copy", "add+copy", "copy+add"] if there else ["add"])
        if what == "add":
            encoder.add(rng.randbytes(rng.randrange(1, 40)))
        elif what == "run":
            encoder.run(rng.randrange(256), rng.randrange(1, 300))
        elif what == "copy":
            encoder.copy(address, rng.randrange(1, 50))
        elif what == "add+copy":
            encoder.add_then_copy(rng.randbytes(rng.randrange(1, 5)), address)
        elif address + 4 <= there:
            encoder.copy_then_add(address, rng.randrange(256))
    target = bytes(encoder.target)
    if rng.random() < 0.5:
        more["adler"] = zlib.adler32(target).to_bytes(4, "big")
    parts = (bytes(encoder.additions), bytes(encoder.instructions), bytes(encoder.addresses))
    return window(len(target), *parts, **more), target


def random_delta(seed: int) -> tuple[bytes, bytes, bytes]:
    """(delta, source, target): windows of every kind."""
    rng = random.Random(seed)
    source, delta, target = rng.randbytes(2000), HEAD, b""
    for _ in range(rng.randrange(1, 5)):
        flags = rng.choice([0, 1, 2])
        origin = {0: b"", 1: source, 2: target}[flags]
        start = rng.randrange(len(origin) + 1)
        length = rng.randrange(len(origin) + 1 - start)
        more = {"flags": flags, "extent": (length, start)} if flags else {}
        part, made = random_window(rng, origin[start : start + length], **more)
        delta, target = delta + part, target + made
    return delta, source, target


def test_the_example_of_the_rfcs_third_section():
    # COPY 4 from 0, ADD wxyz, COPY 4 from 4, COPY 12 from 24 (it reads what it writes), RUN 4 z
    body = window(
        28,
        b"wxyzz",
        bytes([20, 5, 20, 28, 0, 4]),
        bytes([0, 4, 24]),
        flags=1,
        extent=(16, 0),
    )
    assert decode(HEAD + body, b"abcdefghijklmnop") == b"abcdwxyzefghefghefghefghzzzz"


def test_the_code_table_is_the_rfcs():
    # Rows of the table in section 5.6: (code, first half, second half).
    nothing = (0, 0, 0)
    assert len(CODE_TABLE) == 256
    for code, first, second in [
        (0, (RUN, 0, 0), nothing),
        (1, (ADD, 0, 0), nothing),
        (18, (ADD, 17, 0), nothing),
        (19, (COPY, 0, 0), nothing),
        (34, (COPY, 18, 0), nothing),
        (35, (COPY, 0, 1), nothing),
        (162, (COPY, 18, 8), nothing),
        (163, (ADD, 1, 0), (COPY, 4, 0)),
        (174, (ADD, 4, 0), (COPY, 6, 0)),
        (234, (ADD, 4, 0), (COPY, 6, 5)),
        (235, (ADD, 1, 0), (COPY, 4, 6)),
        (246, (ADD, 4, 0), (COPY, 4, 8)),
        (247, (COPY, 4, 0), (ADD, 1, 0)),
        (255, (COPY, 4, 8), (ADD, 1, 0)),
    ]:
        assert CODE_TABLE[code] == (first, second)


def test_address_modes_by_hand():
    source = bytes(range(200))
    codes = [20 + 16 * mode for mode in (0, 1, 2, 3, 6)]  # COPY 4 in these modes
    # self: 100. here: it writes at 204 and looks 54 back: 150. near[0] is 100: + 10 = 110.
    # near[1] is 150: + 5 = 155. same[100]: 100.
    addresses = bytes([100, 54, 10, 5, 100])
    body = window(20, b"", bytes(codes), addresses, flags=1, extent=(200, 0))
    expected = b"".join(source[at : at + 4] for at in (100, 150, 110, 155, 100))
    assert decode(HEAD + body, source) == expected


@pytest.mark.parametrize("seed", range(60))
def test_round_trip_of_random_instructions(seed):
    delta, source, target = random_delta(seed)
    assert decode(delta, source) == target


def test_a_copy_of_nothing_copies_nothing():
    instructions = b"\x13" + integer(0) + b"\x02"  # COPY 0 from 0, ADD 1
    delta = HEAD + window(1, b"x", instructions, integer(0), flags=1, extent=(4, 0))
    assert decode(delta, b"abcd") == b"x"


def test_an_empty_delta_makes_an_empty_file():
    assert decode(HEAD, b"source") == b""


def test_application_header_and_unused_compressor_are_passed_over():
    delta = bytes.fromhex("d6c3c4 00 05") + b"\x02" + b"\x04name" + window(2, b"hi", b"\x03", b"")
    assert decode(delta, b"") == b"hi"


def test_every_cut_is_an_error():
    delta, source, target = random_delta(4)
    whole = {len(HEAD)}  # cuts between windows leave a valid, shorter delta
    for cut in range(len(delta)):
        try:
            made = decode(delta[:cut], source)
        except UserError as error:
            assert "\n" not in str(error)
        else:
            assert target.startswith(made) and len(made) < len(target)
            whole.add(cut)
    assert len(whole) <= 4


def test_garbage_is_an_error_or_a_file_and_nothing_else():
    rng = random.Random(1)
    errors = 0
    for seed in range(300):
        delta, source, _ = random_delta(seed % 20)
        damaged = bytearray(delta)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            decode(bytes(damaged), source)
        except UserError:
            errors += 1
    assert errors > 100


@pytest.mark.parametrize(
    ("delta", "text"),
    [
        (b"", "not a VCDIFF delta"),
        (b"PK\x03\x04 and so on", "not a VCDIFF delta"),
        (HEAD[:3] + b"S\x00", "version 83"),
        (HEAD[:4] + b"\x02", "code table of its own"),
        (HEAD + window(2, b"hi", b"\x03", b"", indicator=1), "secondary compression"),
        (HEAD + window(2, b"hi", b"\x03", b"", flags=8), "says 0x8"),
        (HEAD + window(2, b"hi", b"\x03", b"", flags=3, extent=(0, 0)), "says 0x3"),
        (HEAD + window(1, b"hi", b"\x03", b""), "past its end"),
        (HEAD + window(3, b"hi", b"\x03", b""), "differ in length"),
        (HEAD + window(2, b"hi!", b"\x03", b""), "differ in length"),
        (HEAD + window(2, b"h", b"\x03", b""), "cut off"),
        (HEAD + window(4, b"", b"\x14", b"\x00"), "from outside"),
        (HEAD + window(4, b"", b"\x24", b"\x01"), "from outside"),
        (HEAD + window(4, b"", b"\x14", b"\x00", flags=1, extent=(9, 0)), "longer file"),
        (HEAD + window(2, b"hi", b"\x03", b"", adler=b"\0\0\0\0"), "another file"),
        (HEAD + window(1 << 60, b"h", b"\x00" + integer(1 << 60), b""), "more than 64 MiB"),
        (HEAD + b"\x00" + b"\xff" * 10, "63 bits"),
        (HEAD + b"\x00\x09" + bytes([2, 0, 2, 1, 0]) + b"hi\x03!", "longer than its parts"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(delta, text):
    with pytest.raises(UserError, match=text) as error:
        decode(delta, b"source", name="rom.delta")
    assert str(error.value).startswith("rom.delta ")
    assert "\n" not in str(error.value)


def test_another_source_is_refused_by_the_checksum():
    delta, source, target = HEAD, b"abcdefgh" * 8, b"abcdefgh" * 4
    adler = zlib.adler32(target).to_bytes(4, "big")
    delta += window(32, b"", b"\x13" + integer(32), b"\x00", flags=1, extent=(64, 0), adler=adler)
    assert decode(delta, source) == target
    with pytest.raises(UserError, match="another file"):
        decode(delta, source[::-1])


def xdelta3(*arguments: str | Path) -> None:
    subprocess.run([XDELTA3, "-f", *arguments], check=True, capture_output=True)


@pytest.mark.skipif(XDELTA3 is None, reason="needs xdelta3")
@pytest.mark.parametrize("flags", [("-S", "none"), ("-S", "none", "-A"), ("-9", "-S", "none")])
def test_decodes_what_xdelta3_writes(tmp_path, flags):
    rng = random.Random(3)
    source = rng.randbytes(300_000)
    pieces = [source[at : at + rng.randrange(3, 9000)] for at in range(0, 290_000, 4000)]
    rng.shuffle(pieces)
    target = b"".join(piece + rng.randbytes(rng.randrange(20)) + b"\x00" * 30 for piece in pieces)
    (tmp_path / "source").write_bytes(source)
    (tmp_path / "target").write_bytes(target)
    made = tmp_path / "delta"
    xdelta3(*flags, "-e", "-s", tmp_path / "source", tmp_path / "target", made)
    assert decode(made.read_bytes(), source) == target


@pytest.mark.skipif(XDELTA3 is None, reason="needs xdelta3")
def test_refuses_xdelta3s_secondary_compression(tmp_path):
    (tmp_path / "target").write_bytes(b"the same words, and the same words again. " * 3000)
    xdelta3("-S", "djw", "-e", tmp_path / "target", tmp_path / "delta")
    (tmp_path / "noise").write_bytes(random.Random(1).randbytes(99).hex().encode() * 40)
    xdelta3("-S", "djw", "-e", tmp_path / "noise", tmp_path / "delta")
    with pytest.raises(UserError, match="secondary compression"):
        decode((tmp_path / "delta").read_bytes(), b"")


@pytest.mark.skipif(XDELTA3 is None, reason="needs xdelta3")
@pytest.mark.parametrize("delta", DELTAS, ids=lambda path: path.parent.name)
def test_the_contests_deltas_decode_as_in_xdelta3(tmp_path, delta):
    # Against noise instead of the ROM, with checksums left aside: the copies must be the same.
    windows = list(parse(delta.read_bytes()))
    length = max(window.position + window.length for window in windows)
    source = random.Random(2).randbytes(length)
    (tmp_path / "source").write_bytes(source)
    xdelta3("-n", "-d", "-s", tmp_path / "source", delta, tmp_path / "target")
    segments = [source[part.position : part.position + part.length] for part in windows]
    parts = [execute(part, segment) for part, segment in zip(windows, segments, strict=True)]
    assert b"".join(parts) == (tmp_path / "target").read_bytes()


def test_the_contests_deltas_refuse_another_rom():
    assert len(DELTAS) == 6
    for delta in DELTAS:
        with pytest.raises(UserError, match="another file"):
            decode(delta.read_bytes(), bytes(4 << 20))
