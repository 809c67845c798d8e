"""NumPy arrays in .npy.zst files, streamed: gigabytes pass through a few megabytes of memory."""

import dataclasses
import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, final

import numpy as np
import zstandard

from experiment.errors import UserError

PIECE = 8 * 2**20  # bytes handed on at a time
THREADS = 2


@final
class HashingWriter:
    """Writes to a file while it counts the bytes and takes their SHA-256."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        self._file.write(data)
        self._hash.update(data)
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        self._file.flush()

    def hexdigest(self) -> str:
        """SHA-256 of what was written."""
        return self._hash.hexdigest()


@final
class _HashingReader:
    """Reads from a file while it takes the SHA-256 of what it hands out."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._hash.update(data)
        return data

    def hexdigest(self) -> str:
        """SHA-256 of the file, after reading what is left of it."""
        while self.read(PIECE):
            pass
        return self._hash.hexdigest()


@final
class Parts:
    """Arrays that are stored as one, on end along the first axis, without ever being one."""

    def __init__(self, parts: Sequence[np.ndarray]) -> None:
        """parts: at least one, all of one dtype and, but for their lengths, of one shape."""
        self.parts = list(parts)
        self.dtype = self.parts[0].dtype
        self.shape = (sum(map(len, self.parts)), *self.parts[0].shape[1:])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """As one after all, for `np.asarray`."""
        return np.concatenate(self.parts, dtype=dtype)


def write_array(array: np.ndarray | Parts, sink: HashingWriter) -> None:
    """Write `array` (any strides, no objects) as a zstd-compressed .npy file."""
    if array.dtype.hasobject:
        raise TypeError("an array of Python objects cannot be saved")
    compressor = zstandard.ZstdCompressor(level=1, threads=THREADS, write_checksum=True)
    with compressor.stream_writer(sink, closefd=False) as stream:  # type: ignore[arg-type]
        stream.write(_npy_header(array))
        for piece in _pieces(array):
            stream.write(piece)


@final
@dataclasses.dataclass(frozen=True)
class StoredArray:
    """Where an array is stored, and what it will be."""

    path: Path
    dtype: np.dtype
    shape: tuple[int, ...]
    sha256: str


@final
class StoredArrays(Mapping[str, np.ndarray]):
    """The arrays of a checkpoint, read when asked for.

    `arrays["name"]` makes a new array; `arrays.read_into("name", out)` fills one that exists.
    """

    def __init__(self, stored: Mapping[str, StoredArray]) -> None:
        self.stored = stored

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, name: str) -> np.ndarray:
        out = np.empty(self.stored[name].shape, self.stored[name].dtype)
        self.read_into(name, out)
        return out

    def read_into(self, name: str, out: np.ndarray | Parts) -> None:
        """Fill `out` (any strides) with a stored array of the same shape and dtype.

        ValueError: `out` differs in shape or dtype. UserError: the file is damaged.
        """
        stored = self.stored[name]
        if (out.shape, out.dtype) != (stored.shape, stored.dtype):
            raise ValueError(
                f"array {name!r} is {stored.dtype}{stored.shape}, "
                f"cannot be read into {out.dtype}{out.shape}"
            )
        try:
            with stored.path.open("rb") as file:
                _read_file(file, out, sha256=stored.sha256)
        except (OSError, EOFError, ValueError, zstandard.ZstdError) as error:
            raise UserError(
                f"checkpoint file {stored.path} is damaged ({error}); use another checkpoint"
            ) from None


def copy_into(arrays: Mapping[str, Any], name: str, out: Parts) -> None:
    """Fill `out` with arrays[name], streamed where that is stored. Errors: as `read_into`."""
    if isinstance(arrays, StoredArrays):
        arrays.read_into(name, out)
        return
    source, start = np.asarray(arrays[name]), 0
    if source.shape != out.shape:
        raise ValueError(f"array {name!r} is {source.shape}, cannot be copied into {out.shape}")
    for part in out.parts:
        part[...] = source[start : start + len(part)]
        start += len(part)


def rows_of(arrays: Mapping[str, Any], name: str, wanted: np.ndarray) -> np.ndarray:
    """The rows of arrays[name] where `wanted` [len] is true; of a stored one the others pass by,
    never in memory together. Errors: as `read_into`."""
    if not isinstance(arrays, StoredArrays):
        return np.asarray(arrays[name])[wanted]
    dtype, shape = arrays.stored[name].dtype, arrays.stored[name].shape[1:]
    found = np.empty((int(wanted.sum()), *shape), dtype)
    passing = np.empty((1024, *shape), dtype)
    parts, done = [], 0
    for stretch in np.split(wanted, np.flatnonzero(np.diff(wanted)) + 1):
        if stretch.all():
            parts.append(found[done : done + len(stretch)])
            done += len(stretch)
            continue
        whole, rest = divmod(len(stretch), len(passing))
        parts += [*[passing] * whole, passing[:rest]]
    arrays.read_into(name, Parts(parts))
    return found


def _read_file(file: BinaryIO, out: np.ndarray | Parts, *, sha256: str) -> None:
    source = _HashingReader(file)
    with zstandard.ZstdDecompressor().stream_reader(source, closefd=False) as stream:  # type: ignore[arg-type]
        expected = _npy_header(out)
        if _read_exactly(stream, len(expected)) != expected:
            raise ValueError("its header does not match meta.json")
        _fill(stream, out)
        if stream.read(1):
            raise ValueError("it is longer than its header says")
    if source.hexdigest() != sha256:
        raise ValueError("its checksum does not match meta.json")


def _npy_header(array: np.ndarray | Parts) -> bytes:
    buffer = io.BytesIO()
    description = {
        "descr": np.lib.format.dtype_to_descr(array.dtype),
        "fortran_order": False,
        "shape": array.shape,
    }
    np.lib.format.write_array_header_1_0(buffer, description)
    return buffer.getvalue()


def _bytes_of(array: np.ndarray) -> np.ndarray:
    """A C-contiguous array as flat bytes, without a copy."""
    return array.reshape(-1).view(np.uint8)


def _smaller(array: np.ndarray) -> list[np.ndarray]:
    """Views that make up an array of more than a piece, in their order."""
    rows = PIECE * len(array) // array.nbytes
    if rows == 0:
        return list(array)
    return [array[start : start + rows] for start in range(0, len(array), rows)]


def _pieces(array: np.ndarray | Parts) -> Iterator[memoryview]:
    """The array's bytes in C order, a few megabytes at a time."""
    if isinstance(array, Parts):
        for part in array.parts:
            yield from _pieces(part)
        return
    if array.size == 0:
        return
    if array.flags.c_contiguous:
        flat = _bytes_of(array)
        for start in range(0, len(flat), PIECE):
            yield flat[start : start + PIECE].data
    elif array.nbytes <= PIECE:
        yield _bytes_of(np.ascontiguousarray(array)).data
    else:
        for part in _smaller(array):
            yield from _pieces(part)


def _fill(stream: Any, out: np.ndarray | Parts) -> None:
    """Read the bytes of `out` in C order from `stream` straight into it."""
    if isinstance(out, Parts):
        for part in out.parts:
            _fill(stream, part)
        return
    if out.size == 0:
        return
    if out.flags.c_contiguous:
        flat = _bytes_of(out)
        for start in range(0, len(flat), PIECE):
            _read_exactly_into(stream, flat[start : start + PIECE].data)
    elif out.nbytes <= PIECE:
        part = np.empty(out.shape, out.dtype)
        _fill(stream, part)
        out[...] = part
    else:
        for part in _smaller(out):
            _fill(stream, part)


def _read_exactly(stream: Any, size: int) -> bytes:
    buffer = bytearray(size)
    _read_exactly_into(stream, memoryview(buffer))
    return bytes(buffer)


def _read_exactly_into(stream: Any, view: memoryview) -> None:
    done = 0
    while done < len(view):
        count = stream.readinto(view[done:])
        if not count:
            raise EOFError("it is cut off")
        done += count
