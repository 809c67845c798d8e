"""A recurrent core between encoder and heads; its state is reset where an episode begins."""

from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor, nn

from retro_agents.nets.initialise import orthogonal_gates

CORES = {"gru": nn.GRU, "lstm": nn.LSTM}


class RecurrentCore(nn.Module):
    """A GRU or LSTM over time. Its state is one tensor [N,state_size], which rollouts and
    checkpoints hold like any other; an LSTM's is its output and its cell, concatenated.

    Source: Hochreiter and Schmidhuber 1997 (LSTM); Cho et al., arXiv:1406.1078 (GRU).
    """

    def __init__(self, kind: Literal["gru", "lstm"], features: int, *, hidden: int) -> None:
        super().__init__()
        self.kind, self.features = kind, hidden
        self.state_size = hidden if kind == "gru" else 2 * hidden
        self.cells = CORES[kind](features, hidden)
        orthogonal_gates(self.cells)

    def forward(
        self,
        x: Tensor,
        state: Tensor,
        starts: Tensor,
        *,
        ends: dict[int, Tensor] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """x [T,N,F], state [N,S] before x[0], starts bool [T,N] -> (out [T,N,hidden], state [N,S]
        after x[T-1]). starts[t,n]: x[t,n] is the first of an episode, so its state is zero.
        ends: is given the states [N,S] before each step t at which an episode starts, not zeroed.

        Runs whole stretches in which no episode starts, in fp32 even under autocast.
        """
        steps, num_envs = starts.shape
        assert x.shape[:2] == (steps, num_envs) and state.shape == (num_envs, self.state_size)
        cuts = [0, 1]
        if steps > 1:
            begins = starts.any(dim=1)
            begins[0] = True
            cuts = [*begins.nonzero().flatten().tolist(), steps]  # this waits for the GPU
        outputs = []
        with torch.autocast(x.device.type, enabled=False):
            x, state = x.float(), state.float()
            for begin, end in pairwise(cuts):
                if ends is not None:
                    ends[begin] = state
                state = torch.where(starts[begin, :, None], torch.zeros_like(state), state)
                out, state = self._stretch(x[begin:end], state)
                outputs.append(out)
        return torch.cat(outputs), state

    def _stretch(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        if self.kind == "gru":
            out, last = self.cells(x, state[None])
            return out, last[0]
        parts = [part.contiguous() for part in state[None].chunk(2, dim=2)]
        out, last = self.cells(x, tuple(parts))
        return out, torch.cat(last, dim=2)[0]
