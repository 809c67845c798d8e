import pytest
import torch

from retro_agents.run.optimiser import Adam, AdamW, RMSprop, optimiser_tensors, restore_optimiser


def step(net, optimiser, seed):
    x = torch.randn(8, 3, generator=torch.Generator().manual_seed(seed))
    optimiser.zero_grad()
    net(x).square().mean().backward()
    optimiser.step()


@pytest.mark.parametrize(
    ("ours", "original", "settings"),
    [
        (Adam, torch.optim.Adam, {"fused": True}),
        (Adam, torch.optim.Adam, {"weight_decay": 0.1, "maximize": True}),
        (AdamW, torch.optim.AdamW, {"weight_decay": 0.1, "fused": True}),
        (RMSprop, torch.optim.RMSprop, {"alpha": 0.9}),
    ],
)
def test_ours_take_the_originals_steps(ours, original, settings):
    nets = [torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)]
    nets[1].load_state_dict(nets[0].state_dict())
    made = [
        kind(net.parameters(), lr=0.01, **settings)
        for net, kind in zip(nets, (ours, original), strict=True)
    ]
    before = nets[0].weight.clone()
    for seed in range(3):
        for net, optimiser in zip(nets, made, strict=True):
            step(net, optimiser, seed)
    assert torch.equal(nets[0].weight, nets[1].weight) and not torch.equal(nets[0].weight, before)


@pytest.mark.parametrize("tensor_rate", [False, True])
def test_a_restored_adam_takes_the_same_steps_at_its_own_learning_rate(tensor_rate):
    def adam(net, rate=0.01):
        return torch.optim.Adam(net.parameters(), lr=torch.tensor(rate) if tensor_rate else rate)

    net = torch.nn.Linear(3, 2)
    optimiser = adam(net)
    for seed in range(3):
        step(net, optimiser, seed)
    tensors = {key: t.clone() for key, t in optimiser_tensors(optimiser).items()}
    copy = torch.nn.Linear(3, 2)
    copy.load_state_dict(net.state_dict())
    restored, other = adam(copy), adam(net, rate=0.5)
    restore_optimiser(restored, tensors)
    restore_optimiser(other, tensors)
    assert other.param_groups[0]["lr"] == 0.5 and other.state[net.weight]["step"] == 3
    for seed in range(3, 6):
        step(net, optimiser, seed)
        step(copy, restored, seed)
    assert torch.equal(net.weight, copy.weight)


def test_a_state_of_other_shapes_is_refused():
    big, small = (torch.nn.Linear(size, 2) for size in (5, 3))
    optimiser, other = (torch.optim.Adam(net.parameters(), fused=True) for net in (big, small))
    step(small, other, 0)
    with pytest.raises(ValueError, match=r"is \[2, 3\], of weights \[2, 5\]"):
        restore_optimiser(optimiser, optimiser_tensors(other))
