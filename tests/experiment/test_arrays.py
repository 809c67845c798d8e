import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zstandard

from experiment.arrays import (
    PIECE,
    HashingWriter,
    Parts,
    StoredArray,
    StoredArrays,
    copy_into,
    rows_of,
    write_array,
)


def store(path: Path, array: np.ndarray | Parts) -> StoredArrays:
    with path.open("wb") as file:
        sink = HashingWriter(file)
        write_array(array, sink)
    stored = StoredArray(path, array.dtype, array.shape, sink.hexdigest())
    return StoredArrays({path.name.removesuffix(".npy.zst"): stored})


def big() -> np.ndarray:
    """More than one piece, and no whole number of them."""
    return np.random.default_rng(0).integers(0, 4, (3, PIECE // 2, 2), dtype=np.uint8)[:, 5:]


def test_strided_arrays_of_several_pieces_come_back(tmp_path: Path) -> None:
    for array in (big(), big()[:, ::2], np.asfortranarray(big()[:, :1000]), big()[0]):
        assert np.array_equal(store(tmp_path / "x.npy.zst", array)["x"], array)


def test_a_long_strided_row_comes_back_into_a_strided_one(tmp_path: Path) -> None:
    row = np.random.default_rng(0).integers(0, 4, 2 * PIECE + 10, dtype=np.uint16)[::2]
    out = np.zeros((len(row), 2), np.uint16)
    store(tmp_path / "x.npy.zst", row).read_into("x", out[:, 1])
    assert np.array_equal(out[:, 1], row) and not out[:, 0].any()


def test_parts_are_stored_as_one_and_read_back_in_place(tmp_path: Path) -> None:
    array = big()
    parts = Parts([array[0, :7], array[1, ::3], array[2, :0]])
    stored = store(tmp_path / "x.npy.zst", parts)
    assert np.array_equal(stored["x"], np.concatenate(parts.parts))
    for source in (stored, {"x": parts}, {"x": np.asarray(parts)}):
        out = np.full_like(array, 9)
        copy_into(source, "x", Parts([out[2, :7], out[0, ::3], out[1, :0]]))
        assert np.array_equal(out[2, :7], array[0, :7])
        assert np.array_equal(out[0, ::3], array[1, ::3])
        assert (out[1] == 9).all() and (out[0, 1::3] == 9).all()
    with pytest.raises(ValueError, match="cannot be"):
        copy_into({"x": parts}, "x", Parts([array[0]]))


def test_read_into_fills_only_the_given_part(tmp_path: Path) -> None:
    array = big()
    out = np.full((3, array.shape[1] + 10, 2), 9, np.uint8)
    store(tmp_path / "x.npy.zst", array).read_into("x", out[:, 4:-6])
    assert np.array_equal(out[:, 4:-6], array)
    assert (out[:, :4] == 9).all()
    assert (out[:, -6:] == 9).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_some_rows_of_a_long_array_are_read_alone(tmp_path: Path, dtype: type) -> None:
    rng = np.random.default_rng(0)
    array = rng.integers(0, 99, (5000, 3)).astype(dtype)
    stored = store(tmp_path / "x.npy.zst", array)
    masks = [np.zeros(5000, bool), np.ones(5000, bool), rng.random(5000) < 0.5]
    masks += [np.arange(5000) >= start for start in (1, 1024, 2048, 4999)]
    for wanted in (*masks, ~masks[-1], ~masks[-2]):
        found = rows_of(stored, "x", wanted)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, array[wanted])
        np.testing.assert_array_equal(rows_of({"x": Parts([array])}, "x", wanted), found)
    nothing = store(tmp_path / "none.npy.zst", array[:0])
    assert rows_of(nothing, "none", np.zeros(0, bool)).shape == (0, 3)


def test_read_into_another_shape_or_type_is_refused(tmp_path: Path) -> None:
    stored = store(tmp_path / "x.npy.zst", np.zeros((2, 3), np.uint8))
    for out in (np.zeros((3, 2), np.uint8), np.zeros((2, 3), np.int8)):
        with pytest.raises(ValueError, match="cannot be read into"):
            stored.read_into("x", out)


def test_the_file_is_a_plain_npy_file_inside_zstd(tmp_path: Path) -> None:
    array = np.arange(12.0).reshape(3, 4)
    store(tmp_path / "x.npy.zst", array)
    with zstandard.ZstdDecompressor().stream_reader((tmp_path / "x.npy.zst").open("rb")) as stream:
        assert np.array_equal(np.load(io.BytesIO(stream.read())), array)


MEMORY = """
import resource, sys
import numpy as np
from pathlib import Path
from experiment.arrays import HashingWriter, StoredArray, StoredArrays, write_array
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
array = np.random.default_rng(0).integers(0, 9, (4, 100_000_000), dtype=np.uint8)[:, :-1]
path = Path(sys.argv[1])
before = peak()
with path.open("wb") as file:
    sink = HashingWriter(file)
    write_array(array, sink)
stored = StoredArrays({"x": StoredArray(path, array.dtype, array.shape, sink.hexdigest())})
stored.read_into("x", array)
print(peak() - before)
"""


def test_400_megabytes_pass_through_less_than_64(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MEMORY, str(tmp_path / "x.npy.zst")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 64e6
