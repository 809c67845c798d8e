import json

import pytest
import torch

from experiment.optimiser import optimiser_parts, restore_optimiser


def step(net: torch.nn.Module, optimiser: torch.optim.Optimizer, seed: int) -> None:
    x = torch.randn(8, 3, generator=torch.Generator().manual_seed(seed))
    optimiser.zero_grad()
    net(x).square().mean().backward()
    optimiser.step()


@pytest.mark.parametrize("tensor_rate", [False, True])
def test_a_restored_adam_takes_the_same_steps(tensor_rate: bool) -> None:
    rate = torch.tensor(0.01) if tensor_rate else 0.01
    net = torch.nn.Linear(3, 2)
    optimiser = torch.optim.Adam(net.parameters(), lr=rate)
    for seed in range(3):
        step(net, optimiser, seed)
    tensors, plain = optimiser_parts(optimiser)
    plain = json.loads(json.dumps(plain))
    copy = torch.nn.Linear(3, 2)
    copy.load_state_dict(net.state_dict())
    fresh_rate = torch.tensor(0.5) if tensor_rate else 0.5
    restored = torch.optim.Adam(copy.parameters(), lr=fresh_rate)
    restore_optimiser(restored, {key: t.clone() for key, t in tensors.items()}, plain)
    for seed in range(3, 6):
        step(net, optimiser, seed)
        step(copy, restored, seed)
    assert torch.equal(net.weight, copy.weight)
    assert float(restored.param_groups[0]["lr"]) == pytest.approx(0.01)


def test_sgd_without_momentum_has_no_tensors() -> None:
    net = torch.nn.Linear(3, 2)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    step(net, optimiser, 0)
    tensors, plain = optimiser_parts(optimiser)
    assert not tensors
    restore_optimiser(optimiser, tensors, plain)
