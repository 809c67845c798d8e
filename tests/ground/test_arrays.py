import io

import numpy as np
import pytest
import zstandard

from retro_agents.ground.arrays import PIECE, pieces, whole
from retro_agents.run.checkpoint import load_checkpoint, save_checkpoint
from tests.runs import in_python


def store(folder, array):
    """The array, saved and loaded as `x`."""
    save_checkpoint(folder, agent="a", config={}, tensors={}, arrays={"x": array})
    return load_checkpoint(folder).arrays


def big():
    """More than one piece, and no whole number of them."""
    return np.random.default_rng(0).integers(0, 4, (3, PIECE // 2, 2), dtype=np.uint8)[:, 5:]


def test_arrays_of_several_pieces_come_back(tmp_path):
    for array in (big(), big()[:, ::2], np.asfortranarray(big()[:, :1000]), big()[0]):
        assert np.array_equal(store(tmp_path, array)["x"], array)


def test_rows_come_in_their_order_and_never_many_megabytes_at_once(tmp_path):
    for array in (big()[0], big()[:, :1000].T):
        found = list(store(tmp_path, array).pieces("x"))
        assert np.array_equal(np.concatenate(found), array)
        assert all(piece.nbytes <= PIECE for piece in found)
    assert list(store(tmp_path, np.zeros((0, 3))).pieces("x")) == []


def test_several_arrays_are_stored_as_one(tmp_path):
    parts = [big()[0, :7], big()[1, ::3], big()[2, :0]]
    stored = store(tmp_path, parts)
    for source in (stored, {"x": parts}, {"x": np.concatenate(parts)}):
        assert np.array_equal(whole(source, "x"), np.concatenate(parts))
        assert np.array_equal(np.concatenate(list(pieces(source, "x"))), np.concatenate(parts))
    assert stored.stored["x"].shape == whole(stored, "x").shape


@pytest.mark.parametrize("other", [np.ones(2, np.float32), np.ones((2, 1), np.uint8)])
def test_what_differs_is_not_stored_as_one(other, tmp_path):
    with pytest.raises(TypeError, match="differs in type or shape"):
        store(tmp_path, [np.ones(2, np.uint8), other])


def test_the_file_is_a_plain_npy_file_inside_zstd(tmp_path):
    array = np.arange(12.0).reshape(3, 4)
    file = store(tmp_path, array).stored["x"].path.open("rb")
    with zstandard.ZstdDecompressor().stream_reader(file) as stream:
        assert np.array_equal(np.load(io.BytesIO(stream.read())), array)


MEMORY = """
import sys
import numpy as np
from pathlib import Path
from retro_agents.ground.arrays import pieces
from retro_agents.run.checkpoint import load_to_resume, save_checkpoint
def peak():  # not getrusage's, which a process has from the one that started it
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
rings = np.random.default_rng(0).integers(0, 9, (4, 1000, 50_000), dtype=np.uint8)
before = peak()
save_checkpoint(Path(sys.argv[1]) / "checkpoints", agent="a", config={}, tensors={},
                arrays={"x": [ring[:-1] for ring in rings]})
assert sum(len(rows) for rows in pieces(load_to_resume(sys.argv[1]).arrays, "x")) == 4 * 999
print(peak() - before)
"""


def test_200_megabytes_pass_through_less_than_64(tmp_path):
    assert int(in_python(MEMORY, str(tmp_path)).stdout) < 64e6
