import bz2
import gzip
import lzma
import os
import pickle
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch

from retro_agents.ground.errors import UserError
from retro_agents.nets import baselines
from retro_agents.nets.baselines import read_arrays, read_baselines
from retro_agents.nets.encoders import nature
from retro_agents.nets.heads import ActorCriticHead

DATA = Path(__file__).parent / "data"
FILES = sorted(path.name for path in DATA.glob("*.joblib"))
# One list, written by joblib 0.11 (of 2018) under NumPy 1.26, by joblib 1.5.3, and by pickle.
CONTENT = [
    np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 8,
    np.arange(6, dtype=np.float32).reshape(3, 2),  # written in Fortran's order
    np.zeros((0, 5), np.float32),
    np.array([7, 8, 9], np.float32),  # written big-endian
]
IMAGE = (4, 84, 84)


@pytest.mark.parametrize("name", FILES)
def test_arrays_come_back_as_they_were_written_of_six_ways(name):
    found = read_arrays(DATA / name)
    assert len(found) == len(CONTENT) and len(FILES) == 6
    for array, want in zip(found, CONTENT, strict=True):
        np.testing.assert_array_equal(array, want)
        assert array.shape == want.shape


def network(actions=7, channels=4, hidden=512, pixels=49):
    """Random weights in TensorFlow's layout and baselines' order, the policy last."""
    rng = np.random.default_rng(0)
    shapes = [
        *((8, 8, channels, 32), (4, 4, 32, 64), (3, 3, 64, 64)),
        *((pixels * 64, hidden), (hidden, 1), (hidden, actions)),
    ]
    arrays = []
    for shape in shapes:
        scale = np.sqrt(2 / np.prod(shape[:-1]))
        bias_shape = (1, shape[-1], 1, 1) if len(shape) == 4 else shape[-1:]
        arrays.append((rng.normal(size=shape) * scale).astype(np.float32))
        arrays.append((rng.normal(size=bias_shape) * 0.1).astype(np.float32))
    return arrays


def write(path, value):
    path.write_bytes(pickle.dumps(value, protocol=4))
    return path


def convolve(x, kernel, bias, stride):
    """x [H,W,in], kernel [h,w,in,out]; VALID: windows that lie in the image only."""
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel.shape[:2], axis=(0, 1))
    out = np.tensordot(windows[::stride, ::stride], kernel, axes=((3, 4, 2), (0, 1, 2)))
    return np.maximum(out + bias.reshape(-1), 0.0)


def reference(arrays, image):
    """baselines' nature_cnn and heads for one image [H,W,C] -> (logits, value)."""
    x = image.astype(np.float64) / 255.0
    for layer, stride in enumerate((4, 2, 1)):
        x = convolve(x, arrays[2 * layer], arrays[2 * layer + 1], stride)
    x = np.maximum(x.reshape(-1) @ arrays[6] + arrays[7], 0.0)
    return x @ arrays[10] + arrays[11], x @ arrays[8] + arrays[9]


def evaluate(state, obs, image=IMAGE, actions=7):
    net = torch.nn.Module()
    net.encoder = nature(image)
    net.hidden = torch.nn.Linear(net.encoder.features, 512)
    net.head = ActorCriticHead(512, actions=actions)
    net.load_state_dict(state)
    with torch.no_grad():
        return net.head(net.hidden(net.encoder(torch.from_numpy(obs))).relu())


@pytest.mark.parametrize("policy_first", [False, True])
def test_net_gives_the_outputs_of_the_tensorflow_net(tmp_path, policy_first):
    arrays = network()
    stored = [*arrays[:8], *arrays[10:], *arrays[8:10]] if policy_first else arrays
    state = read_baselines(write(tmp_path / "net.joblib", stored), image=IMAGE)
    obs = np.random.default_rng(1).integers(256, size=(2, 4, 84, 84), dtype=np.uint8)
    logits, values = evaluate(state, obs)
    for row in range(2):
        want_logits, want_value = reference(arrays, obs[row].transpose(1, 2, 0))
        np.testing.assert_allclose(logits[row].numpy(), want_logits, atol=1e-4)
        np.testing.assert_allclose(values[row].numpy(), want_value, atol=1e-4)
    arrays = network(channels=3, pixels=4 * 7)  # images need not be square
    state = read_baselines(write(tmp_path / "net.joblib", arrays), image=(3, 60, 84))
    logits, _ = evaluate(state, obs[:1, :3, :60], image=(3, 60, 84))
    want, _ = reference(arrays, obs[0, :3, :60].transpose(1, 2, 0))
    np.testing.assert_allclose(logits[0].numpy(), want, atol=1e-4)


class Calls:
    """A pickle of it calls `function(argument)` when it is read carelessly."""

    def __init__(self, function, argument):
        self.call = function, (argument,)

    def __reduce__(self):
        return self.call


def harmful(folder):
    folder.mkdir(exist_ok=True)
    victim = folder / "victim"
    calls = [Calls(os.mkdir, str(victim)), Calls(exec, f"import os; os.mkdir({str(victim)!r})")]
    return victim, [*calls, [np.ones(2), calls[0]], {"weights": calls[1]}]


@pytest.mark.parametrize("index", range(4))
@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize("pack", [bytes, zlib.compress, gzip.compress])
def test_pickle_that_calls_something_is_refused_and_calls_nothing(tmp_path, index, protocol, pack):
    victim, objects = harmful(tmp_path / "careful")
    file = tmp_path / "net.joblib"
    file.write_bytes(pack(pickle.dumps(objects[index], protocol=protocol)))
    with pytest.raises(UserError, match=r"does not need|not a list"):
        read_arrays(file)
    assert not victim.exists()


def test_those_pickles_do_harm_to_a_careless_reader(tmp_path):
    for index in range(4):
        victim, objects = harmful(tmp_path / str(index))
        pickle.loads(pickle.dumps(objects[index]))
        assert victim.exists()


class Wrapper:
    """Stands for joblib's."""


def joblib_bytes(state, content=b""):
    wrapper = Wrapper()
    wrapper.__dict__ |= state
    ours, theirs = f"{__name__}\nWrapper", "joblib.numpy_pickle\nNumpyArrayWrapper"
    pickled = pickle.dumps([wrapper], protocol=3).replace(ours.encode(), theirs.encode())
    return pickled[:-2] + content + pickled[-2:]  # before APPEND and STOP


GOOD = {"subclass": np.ndarray, "shape": (2,), "order": "C", "dtype": np.dtype("f4")}
FOUR = np.array([1, 2], np.float32).tobytes()


def test_wrapper_of_the_tests_is_read(tmp_path):
    (tmp_path / "good").write_bytes(joblib_bytes(GOOD, FOUR))
    np.testing.assert_array_equal(read_arrays(tmp_path / "good")[0], [1, 2])


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": np.dtype("O")},
        {"dtype": np.dtype("V8")},
        {"dtype": np.dtype([("a", "f4"), ("b", "f4")])},
        {"shape": (2**62, 4)},
        {"shape": (-1,)},
        {"shape": (3,)},
        {"shape": "no"},
        {"dtype": None},
    ],
    ids=str,
)
def test_array_of_anything_but_its_numbers_is_refused(tmp_path, change):
    (tmp_path / "bad").write_bytes(joblib_bytes(GOOD | change, FOUR))
    with pytest.raises(UserError) as error:
        read_arrays(tmp_path / "bad")
    assert r"\n" not in str(error.value)


def test_classes_of_the_reader_cannot_be_changed_by_a_file_and_objects_not_read(tmp_path):
    setting = b"\x80\x03cnumpy\ndtype\nN}X\x05\x00\x00\x00orderK\x01s\x86b."  # BUILD on the class
    (tmp_path / "bad").write_bytes(setting)
    with pytest.raises(UserError):
        read_arrays(tmp_path / "bad")
    assert not hasattr(baselines._DType, "order")
    with pytest.raises(UserError, match="not of numbers"):
        read_arrays(write(tmp_path / "bad", [np.array([None, 1], object)]))
    with pytest.raises(UserError, match="cannot read"):
        read_arrays(tmp_path / "nowhere")


@pytest.mark.parametrize("name", FILES)
def test_every_cut_of_a_file_is_refused_in_one_line(tmp_path, name):
    whole = (DATA / name).read_bytes()
    for size in range(0, len(whole), 7):
        (tmp_path / "cut").write_bytes(whole[:size])
        with pytest.raises(UserError) as error:
            read_arrays(tmp_path / "cut")
        assert r"\n" not in str(error.value)


def test_compressed_file_that_grows_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(baselines, "LARGEST", 10_000)
    (tmp_path / "bomb").write_bytes(zlib.compress(pickle.dumps([np.zeros(10**6)])))
    with pytest.raises(UserError, match="too large"):
        read_arrays(tmp_path / "bomb")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x80\x05]\x96" + (2**40).to_bytes(8, "little") + b"a.", "bytearray"),
        (b"\x80\x02]cnumpy\nndarray\n)\x81a.", "1 arrays"),  # named, and nothing said of it
        (bz2.compress(pickle.dumps(CONTENT)), "compressed by bz2"),
        (lzma.compress(pickle.dumps(CONTENT)), "compressed by xz"),
        (lzma.compress(pickle.dumps(CONTENT), lzma.FORMAT_ALONE), "compressed by lzma"),
    ],
)
def test_odd_files_are_one_line(tmp_path, data, words):
    (tmp_path / "odd").write_bytes(data)
    with pytest.raises(UserError, match=words):
        read_baselines(tmp_path / "odd", image=IMAGE)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        (network()[:10], "10 arrays"),
        (network(channels=1), r"convolutions.0 .*\(8, 8, 1, 32\).*\(8, 8, 4, 32\)"),
        (network(pixels=36), "hidden"),
        ([*network()[:10], np.zeros((512, 8)), np.zeros(7)], "head.policy"),
        ([np.zeros(())] * 12, "encoder.convolutions.0"),
        ([*network()[:11], np.full(7, np.inf)], r"not finite \(head.policy.bias\)"),
    ],
)
def test_net_of_another_shape_or_that_diverged_is_refused_by_name(tmp_path, arrays, words):
    with pytest.raises(UserError, match=words) as error:
        read_baselines(write(tmp_path / "net.joblib", arrays), image=IMAGE)
    assert r"\n" not in str(error.value)
