"""NumPy arrays in .npy.zst files, streamed, so that gigabytes need a few megabytes of memory."""

import dataclasses
import hashlib
import io
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, final

import numpy as np
import zstandard

from retro_agents.ground.errors import Damaged, UserError, limit_of
from retro_agents.ground.memory import check_memory

PIECE = 8 * 2**20  # bytes per piece
Rows = np.ndarray | Sequence[np.ndarray]
"""An array, or several that are stored as one, concatenated along the first axis."""


@final
@dataclasses.dataclass(frozen=True)
class StoredArray:
    """The place, dtype and shape of a stored array."""

    path: Path
    dtype: np.dtype
    shape: tuple[int, ...]
    sha256: str


def describe(rows: Rows) -> tuple[np.dtype, tuple[int, ...]]:
    """Returns the dtype and shape with which `rows` are stored. Raises TypeError if they differ in
    type, or in more than their length."""
    if isinstance(rows, np.ndarray):
        return rows.dtype, rows.shape
    if len(kinds := {(part.dtype.str, part.shape[1:]) for part in rows}) > 1:
        raise TypeError(f"what is stored as one array differs in type or shape: {sorted(kinds)}")
    return rows[0].dtype, (sum(map(len, rows)), *rows[0].shape[1:])


def parts_of(rows: Rows) -> Sequence[np.ndarray]:
    """Returns the arrays of which `rows` consist."""
    return [rows] if isinstance(rows, np.ndarray) else rows


def write_array(rows: Rows, file: BinaryIO) -> None:
    """Writes an array as a zstd-compressed .npy file. Raises TypeError for arrays of objects."""
    dtype, shape = describe(rows)
    if dtype.hasobject:
        raise TypeError("an array of Python objects cannot be saved")
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    compressor = zstandard.ZstdCompressor(level=1, threads=2, write_checksum=True)
    with compressor.stream_writer(file, closefd=False) as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        for part in parts_of(rows):
            stream.write(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)


@final
class StoredArrays(Mapping[str, np.ndarray]):
    """The arrays of a checkpoint, read on access by `arrays["name"]` or `pieces`.

    Reading raises Damaged if the file is damaged, and UserError if there is no memory for it.
    """

    def __init__(self, stored: Mapping[str, StoredArray]) -> None:
        self.stored = stored

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, name: str) -> np.ndarray:
        stored, pieces = self.stored[name], self.pieces(name)
        begin = [*itertools.islice(pieces, 1)]  # verifies the size that meta.json claims
        size = stored.dtype.itemsize * math.prod(stored.shape)
        check_memory(size, str(stored.path), instead="free some, or use another checkpoint")
        out = np.empty(stored.shape, stored.dtype)
        flat, start = out.reshape(-1), 0
        for piece in itertools.chain(begin, pieces):
            flat[start : start + piece.size] = piece.reshape(-1)
            start += piece.size
        return out

    def pieces(self, name: str) -> Iterator[np.ndarray]:
        """Yields the array's rows in order, some megabytes at a time."""
        stored = self.stored[name]
        try:
            with stored.path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != stored.sha256:
                    raise ValueError("checksum")
                file.seek(0)
                reader = zstandard.ZstdDecompressor().stream_reader(file, closefd=False)
                with io.BufferedReader(reader) as stream:
                    np.lib.format.read_magic(stream)
                    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
                    if (shape, dtype) != (stored.shape, stored.dtype):
                        raise ValueError("its header does not match meta.json")
                    left, *row = shape or (1,)
                    row_bytes = dtype.itemsize * math.prod(row)
                    while left and row_bytes:
                        count = min(left, max(1, PIECE // row_bytes))
                        data = stream.read(count * row_bytes)
                        yield np.frombuffer(data, dtype).reshape(count, *row)
                        left -= count
        except (
            *(OSError, ValueError, zstandard.ZstdError),
            *(RecursionError, MemoryError, OverflowError),
        ) as error:
            if limit := limit_of(error):
                raise UserError(f"{stored.path} cannot be read: {limit}") from None
            raise Damaged(
                f"checkpoint file {stored.path} is damaged ({error}); use another checkpoint",
                stored.path.parent,
            ) from None


def pieces(arrays: Mapping[str, Any], name: str) -> Iterator[np.ndarray]:
    """Yields the rows of arrays[name] in order. Raises UserError if its file is damaged."""
    if isinstance(arrays, StoredArrays):
        return arrays.pieces(name)
    return iter(parts_of(arrays[name]))


def whole(arrays: Mapping[str, Any], name: str) -> np.ndarray:
    """Returns arrays[name] as one array. Raises UserError if its file is damaged."""
    rows = arrays[name]
    return rows if isinstance(rows, np.ndarray) else np.concatenate(rows)
