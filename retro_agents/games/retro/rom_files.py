"""Reads files that may be ROMs: opens archives, undoes dump formats, and reads headings.

Which ROMs are wanted is decided in `rom_library.py`.
"""

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 32 << 20
"""Size of the largest ROM of stable-retro."""
MAX_DEPTH = 3
"""Deepest nesting of archives."""
TOO_LARGE = f"is larger than any ROM ({MAX_BYTES >> 20} MiB)"
DAMAGED = "is a damaged or unusual zip ({}): unpack it first"
ARCHIVES = {
    b"7z\xbc\xaf": "7z",
    b"Rar!": "RAR",
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7z": "xz",
}
ZIP_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, OSError, ValueError, NotImplementedError),
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


def read_contents(path: Path) -> Iterator[Content]:
    """Yields the file itself (an arcade set is a whole zip), and each file in it if it is a zip."""
    try:
        too_large = path.stat().st_size > MAX_BYTES
        with path.open("rb") as file:
            data = file.read(4 if too_large else -1)
    except OSError as error:
        yield Content(str(path), b"", f"cannot be read: {error.strerror}")
        return
    if not too_large:
        yield Content(str(path), data)
    elif not is_zip(data):
        yield Content(str(path), b"", TOO_LARGE)
    if is_zip(data):
        yield from zipped(str(path), path if too_large else io.BytesIO(data), 1)


def is_zip(data: bytes) -> bool:
    """Whether these bytes begin as a zip that is not empty."""
    return data[:4] == b"PK\x03\x04"


def zipped(where: str, packed: Path | io.BytesIO, depth: int) -> Iterator[Content]:
    """Yields the files in a zip, and in the zips in it. A zip on the disk may be of any size."""
    if depth > MAX_DEPTH:
        yield Content(where, b"", f"is nested more than {MAX_DEPTH} archives deep")
        return
    try:
        with zipfile.ZipFile(packed) as archive:
            for entry in archive.infolist():
                if entry.is_dir():
                    continue
                inside = f"{where}/{entry.filename}"
                content, problem = unpacked(archive, entry)
                yield Content(inside, content, problem)
                if is_zip(content):
                    yield from zipped(inside, io.BytesIO(content), depth + 1)
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
    return (content, "") if len(content) <= MAX_BYTES else (b"", TOO_LARGE)


def dumps(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields the ways to read a dump: (bytes to hash, bytes to install), the plain way first."""
    yield data, data
    if data[:4] == b"NES\x1a":  # the emulator needs this header, the hash is without it
        yield data[16:], data
    if len(data) % 1024 == 512:  # a copier's header
        yield data[512:], data[512:]
        plain = deinterleaved(data[512:])
        yield plain, plain


def deinterleaved(body: bytes) -> bytes:
    """A Super Magic Drive dump's body in the console's order: each 16 KiB block holds its odd
    bytes, then its even ones."""
    plain = bytearray(len(body))
    for start in range(0, len(body) - 0x3FFF, 0x4000):
        plain[start + 1 : start + 0x4000 : 2] = body[start : start + 0x2000]
        plain[start : start + 0x4000 : 2] = body[start + 0x2000 : start + 0x4000]
    return bytes(plain)


def heading(data: bytes) -> Heading | None:
    """The Mega Drive heading of a dump in any format that `dumps` undoes, or None."""

    def text(rom: bytes, start: int, end: int) -> str:
        return " ".join(rom[start:end].decode("latin-1").replace("\0", " ").split())

    for _, rom in dumps(data):
        if b"SEGA" in rom[0x100:0x110] and len(rom) >= 0x200:
            title = text(rom, 0x150, 0x180) or text(rom, 0x120, 0x150)
            size = int.from_bytes(rom[0x1A4:0x1A8], "big") + 1
            serial, places = text(rom, 0x180, 0x18E), text(rom, 0x1F0, 0x1F3)
            return Heading(title, serial, regions(places), size)
    return None


def regions(code: str) -> str:
    """The regions of a code: letters J, U, E, or a hexadecimal digit with them in bits 0, 2, 3."""
    bits = int(code, 16) if len(code) == 1 and code in "0123456789ABCDF" else 0  # E: the letter
    named = [name for bit, name in REGIONS.values() if bits & bit]
    return ", ".join(named or [REGIONS[letter][1] for letter in code if letter in REGIONS])


def archive_kind(data: bytes) -> str | None:
    """The name of an archive format that is not opened here, or None."""
    return next((name for magic, name in ARCHIVES.items() if data.startswith(magic)), None)
