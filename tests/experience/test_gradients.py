"""Gradients and metrics of microbatches are summed, whatever the number of threads."""

import pytest
import torch
from torch import nn

from retro_agents.experience.gradients import GradientThreads


@pytest.mark.parametrize("threads", [1, 2])
def test_microbatches_sum_to_the_gradient_and_the_metrics_of_all(threads):
    torch.manual_seed(0)
    net, rows = nn.Linear(3, 1), torch.randn(9, 3)

    def work(part, factor):
        loss = factor * net(part).sum()
        return list(torch.autograd.grad(loss, net.parameters())), {"loss": loss.detach()}

    sums = GradientThreads(threads, net).backward(
        work, rows.split(4), [2.0, 2.0, 2.0], parameters=list(net.parameters())
    )
    torch.testing.assert_close(sums["loss"], 2.0 * net(rows).sum())
    torch.testing.assert_close(net.weight.grad, 2.0 * rows.sum(dim=0, keepdim=True))
    assert net.bias.grad.item() == 2.0 * len(rows)
