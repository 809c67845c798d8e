"""Reads weights that baselines' PPO2 saved, for our Nature net.

Such a file is a pickle, plain or as joblib writes it: each array is a NumpyArrayWrapper whose bytes
follow it, and the file may be compressed. A pickle can call anything it names, so this reader
accepts only the names that describe a list of numeric arrays.
Sources: baselines/ppo2 (`joblib.dump` of the trainable variables), joblib/numpy_pickle.py.
"""

import io
import math
import pickle
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from torch import Tensor

from retro_agents.ground.errors import UserError
from retro_agents.run.diverged import not_finite

LARGEST = 2**30  # bytes of a decompressed file; a net has 7 MB
NUMBERS = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1")
OTHER_COMPRESSIONS = {b"BZh": "bz2", b"\xfd7zXZ": "xz", b"]\0\0": "lzma"}
"""First bytes of a compressed file -> name of the format."""
LAYERS = ("encoder.convolutions.0", "encoder.convolutions.2", "encoder.convolutions.4", "hidden")


def read_baselines(path: Path | str, *, image: tuple[int, int, int]) -> dict[str, Tensor]:
    """The weights in a baselines PPO2 file, named as in a net of `nature(image)` as `encoder`, a
    linear layer `hidden`, and an `ActorCriticHead` as `head`.

    The file's order is conv1, conv2, conv3, fc1, value, policy, weights before biases; value and
    policy may be swapped, as older versions have them. Kernels [h,w,in,out] become [out,in,h,w],
    matrices [in,out] become [out,in], and fc1's inputs, flattened as [h,w,c] there, [c,h,w] here.
    Raises UserError if the file holds anything else, or is for other images.
    """
    arrays = read_arrays(path)
    if len(arrays) != 12:
        raise _unfit(path, f"it holds {len(arrays)} arrays, not 12 (weight and bias of 6 layers)")
    weights, biases = arrays[0::2], [array.reshape(-1) for array in arrays[1::2]]
    names = [*LAYERS, "head.value", "head.policy"]
    if biases[4].size != 1:
        names[4:] = ["head.policy", "head.value"]
    height, width = _after_convolutions(image)
    outputs = {name: bias.size for name, bias in zip(names, biases, strict=True)}
    shapes: dict[str, tuple[int, ...]] = {
        "encoder.convolutions.0": (8, 8, image[0], 32),
        "encoder.convolutions.2": (4, 4, 32, 64),
        "encoder.convolutions.4": (3, 3, 64, 64),
        "hidden": (height * width * 64, outputs["hidden"]),
        "head.value": (outputs["hidden"], 1),
        "head.policy": (outputs["hidden"], outputs["head.policy"]),
    }
    state: dict[str, Tensor] = {}
    for name, weight, bias in zip(names, weights, biases, strict=True):
        want = shapes[name]
        if weight.shape != want or bias.shape != want[-1:]:
            sizes = f"weights {weight.shape} and {bias.size} biases, expected {want}"
            raise _unfit(path, f"{name} has {sizes} for images [C,H,W] of {list(image)}")
        if name == "hidden":
            weight = weight.reshape(height, width, 64, -1).transpose(2, 0, 1, 3).reshape(want)
        turned = weight.transpose(3, 2, 0, 1) if weight.ndim == 4 else weight.T
        state[f"{name}.weight"] = torch.tensor(np.ascontiguousarray(turned, np.float32))
        state[f"{name}.bias"] = torch.tensor(np.ascontiguousarray(bias, np.float32))
    if part := not_finite(state):
        raise UserError(f"{path} holds numbers that are not finite ({part}); use another file")
    return state


def read_arrays(path: Path | str) -> list[np.ndarray]:
    """Reads the list of numeric arrays in a pickle, plain or joblib's; calls no name in it.

    Raises UserError if the file cannot be read, is damaged, or holds anything else.
    """
    try:
        file = io.BytesIO(_decompressed(Path(path).read_bytes()))
        items = _Unpickler(file).load()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except Exception as error:  # broken bytes can make the unpickler raise anything
        raise _unfit(path, " ".join(str(error).split()) or type(error).__name__) from None
    if not isinstance(items, list) or not all(isinstance(item, _Array) for item in items):
        raise _unfit(path, "it is not a list of arrays")
    return [item.array for item in items]


def _unfit(path: Path | str, reason: str) -> UserError:
    return UserError(
        f"{path} is not a net that baselines' PPO2 saved with its CNN policy: {reason}"
    )


def _after_convolutions(image: tuple[int, int, int]) -> tuple[int, int]:
    """Height and width after Nature's three convolutions, none of them padded."""
    sides = np.array(image[1:])
    for kernel, stride in ((8, 4), (4, 2), (3, 1)):
        sides = (sides - kernel) // stride + 1
    return int(sides[0]), int(sides[1])


def _decompressed(data: bytes) -> bytes:
    """A file's content, decompressed from zlib or gzip if necessary."""
    for start, name in OTHER_COMPRESSIONS.items():
        if data.startswith(start):
            raise ValueError(f"it is compressed by {name}; write it with zlib, gzip or without")
    if data[:1] != b"\x78" and data[:2] != b"\x1f\x8b":
        return data
    stream = zlib.decompressobj(wbits=47)  # zlib's or gzip's header
    content = stream.decompress(data, LARGEST)
    if not stream.eof:
        raise ValueError("it is cut off, or too large")
    return content


class _DType:
    """Stands for numpy.dtype: its code, and later its byte order."""

    def __init__(self, code: str, *flags: Any) -> None:
        if code not in NUMBERS:
            raise ValueError(f"it holds arrays of {code!r}, not of numbers")
        self.code, self.order = code, "="

    def __setstate__(self, state: Any) -> None:
        order = state[1]
        if order not in ("<", ">", "=", "|"):
            raise ValueError("it has an unknown byte order")
        self.order = order

    def dtype(self) -> np.dtype:
        return np.dtype(self.order + self.code)


class _Array:
    """Stands for numpy.ndarray, as plain pickles hold it."""

    array = np.zeros(0)  # until __setstate__ sets it

    def __init__(self, *unused: Any) -> None:
        self.array = np.zeros(0)

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, transposed, data = state
        self.array = _shaped(data, dtype, shape, transposed=transposed)


class _JoblibArray(_Array):
    """Stands for joblib's wrapper; the array's bytes follow its description."""

    file: BinaryIO

    def __setstate__(self, state: Any) -> None:
        dtype, shape = state["dtype"], state["shape"]
        if state.get("numpy_array_alignment_bytes") is not None:
            self.file.read(self.file.read(1)[0])
        data = self.file.read(math.prod(shape) * dtype.dtype().itemsize)
        self.array = _shaped(data, dtype, shape, transposed=state["order"] == "F")


def _shaped(data: bytes, dtype: _DType, shape: tuple[int, ...], *, transposed: bool) -> np.ndarray:
    flat = np.frombuffer(data, dtype.dtype())
    return flat.reshape(shape, order="F" if transposed else "C")


ADMITTED = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _DType,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
}
"""The classes for names in a file, except joblib's wrapper."""


def _refuse_bytearray(_: Any) -> None:
    raise ValueError("it holds a bytearray, which an array does not need")


class _Unpickler(pickle._Unpickler):
    """An unpickler that knows the classes above, and no other name.

    It is Python's, not C's, which allocates memory for any index in a file. Python's does so for
    the length of a bytearray, so bytearrays are refused.
    """

    dispatch = {**pickle._Unpickler.dispatch, pickle.BYTEARRAY8[0]: _refuse_bytearray}  # noqa: RUF012

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self._file = file

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("joblib.numpy_pickle", "NumpyArrayWrapper"):
            return type("_JoblibArray", (_JoblibArray,), {"file": self._file})
        if (module, name) not in ADMITTED:
            raise ValueError(f"it names {module}.{name}, which an array does not need")
        return ADMITTED[module, name]
