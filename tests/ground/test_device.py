from unittest.mock import MagicMock, Mock

import numpy as np
import pytest
import torch

from retro_agents.ground.device import computes_in_bf16, memory_for, prepare_device
from retro_agents.ground.errors import UserError
from retro_agents.run.distributed import joined


def test_auto_is_a_device_that_works():
    device = prepare_device("auto")
    assert torch.ones(2, device=device).sum() == 2
    assert device.type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("name", ["cuda:99", "gpu", "", "cpu:x", "meta"])
def test_a_device_that_is_not_there_is_a_user_error(name):
    with pytest.raises(UserError, match="device"):
        prepare_device(name)


def test_a_driver_too_old_or_more_processes_than_gpus_are_user_errors(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "99")
    with pytest.raises(UserError, match="cuda:99"), joined("cuda"):
        pass
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)  # which the driver counts
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="finds 0 CUDA devices"):
        prepare_device("cuda")


def test_threads_are_set_only_where_a_number_is_given():
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            prepare_device("cpu", threads=threads)
            assert torch.get_num_threads() == threads
        prepare_device("cpu")
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("has", "expected"),
    [
        ({}, False),
        ({"avx2": True, "avx512_bf16": False}, False),
        ({"cpu_name": "Intel Xeon", "avx512_bf16": True}, False),
        ({"cpu_name": "Intel Xeon", "avx512_bf16": True, "amx_bf16": True}, True),
        ({"cpu_name": "AMD EPYC", "avx512_bf16": True}, True),
    ],
    ids=["unknown", "without", "Intel without AMX", "AMX", "AMD"],
)
def test_auto_is_bf16_where_the_processor_is_faster_in_it(monkeypatch, has, expected):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: has)
    cpu = torch.device("cpu")
    assert computes_in_bf16("auto", cpu) == expected
    assert computes_in_bf16("bf16", cpu)
    assert not computes_in_bf16("fp32", cpu)


@pytest.mark.parametrize("has", [True, False], ids=["with", "without"])
def test_auto_asks_the_gpu_that_is_used(monkeypatch, has):
    monkeypatch.setattr(torch.cuda, "device", use := MagicMock())
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: has)
    assert computes_in_bf16("auto", torch.device("cuda:1")) == has
    use.assert_called_once_with(torch.device("cuda:1"))


@pytest.mark.parametrize(
    "make",
    [
        Mock(side_effect=torch.OutOfMemoryError("CUDA is full")),
        Mock(side_effect=MemoryError),
        lambda: torch.zeros(2**50),
        lambda: torch.zeros(10**20),
        lambda: torch.nn.Linear(2, 10**12),
        lambda: np.zeros(10**18),
        lambda: np.zeros(10**19),
    ],
)
def test_a_lack_of_memory_is_a_user_error_and_no_other_error_is(make):
    lack = pytest.raises(UserError, match="no memory for images; give fewer")
    with lack, memory_for("images", instead="give fewer"):
        make()
    with pytest.raises(RuntimeError, match="must match"), memory_for("images", instead=""):
        torch.zeros(2) + torch.zeros(3)
