import pytest
import torch
from torch import nn

from retro_agents.nets.recurrent import RecurrentCore

T, N, F, H = 11, 3, 6, 5
STARTS = {
    "none": [],
    "first step": [(0, 1)],
    "last step": [(T - 1, 0)],
    "one after another": [(4, 0), (5, 0), (6, 0)],
    "several at once": [(3, 0), (3, 2), (7, 1)],
    "all at once": [(5, 0), (5, 1), (5, 2)],
}


def by_hand(core, x, state, starts):
    """One step and one environment at a time with a cell, reset by hand."""
    cell = nn.GRUCell(F, H) if core.kind == "gru" else nn.LSTMCell(F, H)
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in core.cells.state_dict().items()})
    outputs, states = torch.zeros(T, N, H), torch.zeros_like(state)
    for env in range(N):
        own = state[env]
        for step in range(T):
            if starts[step, env]:
                own = torch.zeros_like(own)
            if core.kind == "gru":
                own = outputs[step, env] = cell(x[step, env], own)
            else:
                hidden, memory = cell(x[step, env], (own[:H], own[H:]))
                outputs[step, env], own = hidden, torch.cat([hidden, memory])
        states[env] = own
    return outputs, states


def example(kind, where):
    core = RecurrentCore(kind, F, hidden=H)
    nn.init.normal_(core.cells.bias_hh_l0)  # zeros would hide a bias left out
    starts = torch.zeros(T, N, dtype=torch.bool)
    for step, env in where:
        starts[step, env] = True
    return core, torch.randn(T, N, F), torch.randn(N, core.state_size), starts


@pytest.mark.parametrize("kind", ["gru", "lstm"])
@pytest.mark.parametrize("where", STARTS.values(), ids=STARTS)
def test_core_equals_single_steps_reset_by_hand(kind, where):
    core, x, state, starts = example(kind, where)
    with torch.no_grad():
        out, last = core(x, state, starts)
        want_out, want_last = by_hand(core, x, state, starts)
        for step in range(T):  # as it plays
            one, state = core(x[step : step + 1], state, starts[step : step + 1])
            torch.testing.assert_close(one[0], want_out[step])
    torch.testing.assert_close(out, want_out)
    torch.testing.assert_close(last, want_last)
    torch.testing.assert_close(state, want_last)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_no_gradient_passes_the_start_of_an_episode(kind):
    core, x, state, starts = example(kind, [(4, 1)])
    x.requires_grad_()
    core(x, state, starts)[0][6].sum().backward()
    assert not x.grad[:4, 1].any() and x.grad[4:7, 1].any()
    assert x.grad[:4, [0, 2]].any(dim=2).all() and not x.grad[7:].any()


def test_core_computes_in_full_precision_under_autocast():
    core, x, state, starts = example("gru", [])
    want = core(x, state, starts)[0]
    with torch.autocast("cpu", torch.bfloat16):
        out = core(x, state, starts)[0]
    assert torch.equal(out, want)
