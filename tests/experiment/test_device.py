import pytest
import torch

from experiment.device import prepare_device
from experiment.errors import UserError


def test_auto_is_a_device_that_works() -> None:
    device = prepare_device("auto")
    assert torch.ones(2, device=device).sum() == 2
    assert device.type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("name", ["cuda:99", "gpu", "", "cpu:x", "meta"])
def test_a_device_that_is_not_there_is_a_user_error(name: str) -> None:
    with pytest.raises(UserError, match="device"):
        prepare_device(name)


def test_threads_are_set_only_where_a_number_is_given() -> None:
    before = torch.get_num_threads()
    try:
        prepare_device("cpu", threads=1)
        assert torch.get_num_threads() == 1
        prepare_device("cpu")
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
