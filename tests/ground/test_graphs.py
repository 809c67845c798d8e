import contextlib
from unittest.mock import Mock

import torch

from retro_agents.ground.graphs import Graphed


def test_graphs_are_recorded_on_the_gpu_that_is_used(monkeypatch):
    current, recorded_on = ["cuda:0"], []

    @contextlib.contextmanager
    def use(device):
        before, current[0] = current[0], str(device)
        yield
        current[0] = before

    def stream():
        recorded_on.append(current[0])
        return Mock()

    @contextlib.contextmanager
    def recording(_, *, stream):  # torch keeps that of the first device of the process
        assert isinstance(stream, Mock)
        yield

    fakes = {"device": use, "Stream": stream, "current_stream": stream, "CUDAGraph": Mock}
    fakes |= {"stream": contextlib.nullcontext, "graph": recording}
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    function = Graphed(lambda value: (value,), torch.device("cuda:1"), on=True)
    assert [len(function(Mock(shape=(1,)))) for _ in range(3)] == [1, 1, 1]
    assert recorded_on == ["cuda:1"] * 3
