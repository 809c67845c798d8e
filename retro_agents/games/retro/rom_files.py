"""Reads files that may be ROMs: opens archives, undoes dump formats, and reads headings.

Which ROMs are wanted is decided in `rom_library.py`.
"""

import io
import lzma
import struct
import time
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MAX_BYTES = 32 << 20
"""Size of the largest ROM of stable-retro."""
MAX_DEPTH = 3
"""Deepest nesting of archives."""
TOO_LARGE = f"is larger than any ROM ({MAX_BYTES >> 20} MiB)"
NOT_OPENED = "is a {} archive, which is not opened here: unpack it first"
TOO_MUCH = "is not opened further: these archives hold too much for one import; give fewer"
DAMAGED = "is a damaged or unusual zip ({}): unpack it first"
ARCHIVES = {
    b"7z\xbc\xaf": "7z",
    b"Rar!": "RAR",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7z": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
    b"LZIP": "lzip",
    b"MSCF": "cabinet",
    b"PK\x07\x08": "split zip",
}
ZIP_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, OSError, ValueError, NotImplementedError, MemoryError),
)
"""Errors from a damaged zip, or one packed in an unusual way."""
REGIONS = {"J": (1, "Japan"), "U": (4, "USA"), "E": (8, "Europe")}
"""Letter of a region -> its bit in the later notation, and its name."""


@dataclass(frozen=True)
class Content:
    """A file, or one in an archive. where: path, then the path inside. problem: why unreadable."""

    where: str
    data: bytes
    problem: str = ""


@dataclass
class Allowance:
    """What the archives of one import may hold in all."""

    files: int = 200_000
    size: int = 64 << 30
    """In bytes, unpacked."""
    until: float = field(default_factory=lambda: time.monotonic() + 1800.0)

    def spend(self, size: int) -> bool:
        """Counts a file. Returns whether it was allowed."""
        self.files, self.size = self.files - 1, self.size - size
        return self.files >= 0 and self.size >= 0 and time.monotonic() < self.until


@dataclass(frozen=True)
class Heading:
    """The header of a Mega Drive ROM, at 0x100. size: bytes that the ROM should have."""

    title: str
    serial: str
    regions: str
    size: int

    def __str__(self) -> str:
        place = f", for {self.regions}" if self.regions else ""
        return f"“{self.title}” ({self.serial}{place})"


def read_contents(path: Path, allowance: Allowance) -> Iterator[Content]:
    """Yields the file itself (an arcade set is a whole zip), and each file in it if it is a zip."""
    try:
        too_large = path.stat().st_size > MAX_BYTES
        with path.open("rb") as file:
            data = file.read(512 if too_large else -1)
    except OSError as error:
        yield Content(str(path), b"", f"cannot be read: {error.strerror}")
        return
    if not too_large:
        yield Content(str(path), data)
    elif not is_zip(data):
        yield Content(str(path), b"", why_large(data))
    if is_zip(data):
        yield from zipped(str(path), path if too_large else io.BytesIO(data), 1, allowance)


def is_zip(data: bytes) -> bool:
    """Whether these bytes begin as a zip that is not empty."""
    return data[:4] == b"PK\x03\x04"


def zipped(
    where: str, packed: Path | io.BytesIO, depth: int, allowance: Allowance
) -> Iterator[Content]:
    """Yields the files in a zip, and in the zips in it. A zip on the disk may be of any size."""
    if depth > MAX_DEPTH:
        yield Content(where, b"", f"is nested more than {MAX_DEPTH} archives deep")
        return
    try:
        with zipfile.ZipFile(packed) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            if not entries:
                yield Content(where, b"", "is an archive without files")
            for entry in entries:
                inside = f"{where}/{entry.filename}"
                content, problem = unpacked(archive, entry)
                if not allowance.spend(len(content) or MAX_BYTES):
                    yield Content(where, b"", TOO_MUCH)
                    return
                yield Content(inside, content, problem)
                if is_zip(content):
                    yield from zipped(inside, io.BytesIO(content), depth + 1, allowance)
    except ZIP_ERRORS as error:
        yield Content(where, b"", DAMAGED.format(error))


def unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> tuple[bytes, str]:
    """Reads a file in a zip. Returns (content, problem), one of which is empty."""
    try:
        with archive.open(entry) as file:
            # Read one byte more than allowed: the size in the directory may be wrong.
            content = file.read(MAX_BYTES + 1)
    except ZIP_ERRORS as error:  # before RuntimeError, a base of NotImplementedError
        return b"", DAMAGED.format(error)
    except RuntimeError:  # what zipfile raises for a password
        return b"", "has a password: unpack it first"
    return (content, "") if len(content) <= MAX_BYTES else (b"", why_large(content))


def why_large(begin: bytes) -> str:
    """Why a file that is larger than any ROM is not read, from its first bytes."""
    kind = "zip" if is_zip(begin) else archive_kind(begin)
    return NOT_OPENED.format(kind) if kind else TOO_LARGE


def dumps(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields the ways to read a dump: (bytes to hash, bytes to install), the plain way first."""
    yield data, data
    if data[:4] == b"NES\x1a":  # the emulator needs this header, the hash is without it
        yield data[16:], data
    bodies = [data, data[512:]] if len(data) % 1024 == 512 else [data]  # 512: a copier's header
    for body in bodies:
        for plain in (body, *reordered(body, copied=body is not data)):
            if plain is not data:
                yield plain, plain
            for rom in unpadded(plain):
                yield rom, rom


def reordered(body: bytes, *, copied: bool) -> Iterator[bytes]:
    """Yields the body of a Mega Drive dump in the console's order, if its heading is there then.
    copied: it had a copier's header, so it is tried without a heading too."""
    half = len(body) // 2
    if copied or has_heading(deinterleaved(body[:0x4000])):
        yield deinterleaved(body)
    for odd, even in ((body[:half], body[half:]), (body[half:], body[:half])):
        if has_heading(woven(odd[:0x100], even[:0x100])):  # as a Multi Game Doctor writes it
            yield woven(odd, even)
    if has_heading(woven(body[:0x200:2], body[1:0x200:2])):
        yield woven(body[::2], body[1::2])


def deinterleaved(body: bytes) -> bytes:
    """A Super Magic Drive dump's body in the console's order: each 16 KiB block holds its odd
    bytes, then its even ones."""
    blocks = range(0, len(body) - 0x3FFF, 0x4000)
    plain = [woven(body[at : at + 0x2000], body[at + 0x2000 : at + 0x4000]) for at in blocks]
    return b"".join(plain).ljust(len(body), b"\0")


def woven(odd: bytes, even: bytes) -> bytes:
    """Bytes that alternate, an even one first."""
    plain = bytearray(2 * min(len(odd), len(even)))
    plain[1::2], plain[::2] = odd[: len(plain) // 2], even[: len(plain) // 2]
    return bytes(plain)


def unpadded(rom: bytes) -> Iterator[bytes]:
    """Yields a ROM without what a dump of a larger chip holds behind it: up to the end in its
    heading, its first half if both are the same, and up to a power of two before equal bytes."""
    if has_heading(rom) and len(rom) > (size := size_in(rom)) >= 0x200:
        yield rom[:size]
    half = len(rom)
    while half % 2 == 0 and half > 0x4000 and rom[: half // 2] == rom[half // 2 : half]:
        half //= 2
        yield rom[:half]
    size = max(0x4000, 1 << max(len(rom.rstrip(rom[-1:])) - 1, 0).bit_length())
    while size < len(rom):
        yield rom[:size]
        size *= 2


def has_heading(rom: bytes) -> bool:
    """Whether a Mega Drive heading is where it should be."""
    return b"SEGA" in rom[0x100:0x110] and len(rom) >= 0x200


def size_in(rom: bytes) -> int:
    """The size that a Mega Drive heading says."""
    return int.from_bytes(rom[0x1A4:0x1A8], "big") + 1


def heading(data: bytes) -> Heading | None:
    """The Mega Drive heading of a dump in any format that `dumps` undoes, or None."""

    def text(rom: bytes, start: int, end: int) -> str:
        return " ".join(rom[start:end].decode("latin-1").replace("\0", " ").split())

    for _, rom in dumps(data):
        if has_heading(rom):
            title = text(rom, 0x150, 0x180) or text(rom, 0x120, 0x150)
            serial, places = text(rom, 0x180, 0x18E), text(rom, 0x1F0, 0x1F3)
            return Heading(title, serial, regions(places), size_in(rom))
    return None


def regions(code: str) -> str:
    """The regions of a code: letters J, U, E, or a hexadecimal digit with them in bits 0, 2, 3."""
    bits = int(code, 16) if len(code) == 1 and code in "0123456789ABCDF" else 0  # E: the letter
    named = [name for bit, name in REGIONS.values() if bits & bit]
    return ", ".join(named or [REGIONS[letter][1] for letter in code if letter in REGIONS])


def archive_kind(data: bytes) -> str | None:
    """The name of an archive format that is not opened here, or None."""
    if data[257:262] == b"ustar":
        return "tar"
    if data[2:4] == b"-l" and data[6:7] == b"-":
        return "LHA"
    return next((name for magic, name in ARCHIVES.items() if data.startswith(magic)), None)
