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


def test_restored_state_is_laid_out_like_its_parameter() -> None:
    def make() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten())
        net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return net, torch.optim.Adam(net.parameters(), lr=0.01, fused=True)

    def learn(net: torch.nn.Module, optimiser: torch.optim.Optimizer) -> None:
        optimiser.zero_grad()
        images = torch.randn(2, 3, 5, 5, generator=torch.Generator().manual_seed(1))
        net(images).square().mean().backward()
        optimiser.step()

    net, optimiser = make()
    learn(net, optimiser)
    tensors, plain = optimiser_parts(optimiser)
    copy, restored = make()
    copy.load_state_dict(net.state_dict())
    # As a file gives them back: contiguous.
    restore_optimiser(restored, {k: t.clone().contiguous() for k, t in tensors.items()}, plain)
    for one in ((net, optimiser), (copy, restored)):
        learn(*one)
    for left, right in zip(net.parameters(), copy.parameters(), strict=True):
        assert torch.equal(left, right)
