import contextlib

import torch

from retro_agents.ground.graphs import Graphed


def test_graphs_are_recorded_on_the_gpu_that_is_used(monkeypatch):
    current, recorded_on = ["cuda:0"], []

    @contextlib.contextmanager
    def use(device):
        before, current[0] = current[0], str(device)
        yield
        current[0] = before

    class Stream:
        def __init__(self):
            recorded_on.append(current[0])

        def wait_stream(self, _):
            pass

    class Graph:
        def replay(self):
            pass

    @contextlib.contextmanager
    def recording(_, *, stream):  # torch keeps that of the first device of the process
        assert isinstance(stream, Stream)
        yield

    class Value:
        shape = (1,)

        def to(self, *_, **__):
            return self

        def copy_(self, *_, **__):
            pass

    fakes = {"device": use, "Stream": Stream, "current_stream": Stream, "CUDAGraph": Graph}
    fakes |= {"stream": contextlib.nullcontext, "graph": recording}
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    function = Graphed(lambda value: (value,), torch.device("cuda:1"), on=True)
    assert [len(function(Value())) for _ in range(3)] == [1, 1, 1]
    assert recorded_on == ["cuda:1"] * 3
