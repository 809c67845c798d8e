import numpy as np
import pytest
import torch

from retro_agents.nets.heads import QHead
from retro_agents.nets.noisy import ROWS, NoisyLinear, signed_root

CPU = torch.device("cpu")


@torch.no_grad()
@pytest.mark.parametrize("rows", [(5,), (ROWS,), (ROWS // 2, 2)])
def test_output_equals_the_materialised_noisy_matrix(rows):
    layer = NoisyLinear(6, 9)
    noise_in, noise_out = noise = layer.sample_noise(None, CPU)
    assert noise_in.min() < 0 < noise_in.max() and noise_out.min() < 0 < noise_out.max()
    x = torch.randn(*rows, 6)
    weight = layer.weight + layer.weight_sigma * torch.outer(noise_out, noise_in)
    want = x @ weight.T + layer.bias + layer.bias_sigma * noise_out
    torch.testing.assert_close(layer(x, noise), want)


@pytest.mark.parametrize("count", [3, ROWS])
def test_noise_by_row_gives_each_row_its_own_matrix_in_either_mode(count):
    layer = NoisyLinear(6, 4)
    noise_in, noise_out = layer.sample_noise(count, CPU)
    x = torch.randn(count, 6)
    rows = [layer(x[i : i + 1], (noise_in[i], noise_out[i])) for i in range(count)]
    torch.testing.assert_close(layer(x, (noise_in, noise_out)), torch.cat(rows))
    layer.eval()
    torch.testing.assert_close(layer(x, (noise_in, noise_out)), torch.cat(rows))
    assert not torch.equal(layer(x, (noise_in, noise_out)), layer(x))


def test_noise_is_factorised_transformed_and_spread_as_in_the_paper():
    noise_in, noise_out = NoisyLinear(7, 5).sample_noise(None, CPU)
    assert noise_in.shape == (7,) and noise_out.shape == (5,)
    x = torch.tensor([-4.0, 0.0, 9.0])
    torch.testing.assert_close(signed_root(x), torch.tensor([-2.0, 0.0, 3.0]))
    layer = NoisyLinear(100, 3, sigma0=0.5)
    assert layer.weight.abs().max() <= 0.1
    assert layer.weight_sigma.unique().item() == pytest.approx(0.05)


@pytest.mark.parametrize("streams", ["shared", "separate"])
def test_dueling_head_adds_value_and_centred_advantage(streams):
    head = QHead(8, actions=3, atoms=5, hidden=16, noisy=False, streams=streams)
    features = torch.randn(4, 8)
    out = head(features)
    hidden = head.hidden(features).relu()
    value_hidden = head.value_hidden(features).relu() if streams == "separate" else hidden
    value, advantage = head.value(value_hidden), head.advantage(hidden).view(4, 3, 5)
    for action in range(3):
        want = value + advantage[:, action] - advantage.sum(dim=1) / 3
        torch.testing.assert_close(out[:, action], want)


def slow_quantile(head, features, noise, fraction):
    """Of one row [F] at one fraction: eq. 4 of arXiv:1806.06923, then the plain head -> [A]."""
    cosines = torch.tensor([np.cos(np.pi * i * fraction) for i in range(64)], dtype=torch.float32)
    phi = (head.embedding.weight @ cosines + head.embedding.bias).relu()
    x = features * phi
    hidden = head.hidden(x, noise[0]).relu()
    advantage = head.advantage(hidden, noise[1])
    if head.separate:
        hidden = head.value_hidden(x, noise[3]).relu()
    return head.value(hidden, noise[2]) + advantage - advantage.mean()


@torch.no_grad()
@pytest.mark.parametrize("streams", ["shared", "separate"])
@pytest.mark.parametrize("own", [False, True], ids=["one noise", "noise by row"])
@pytest.mark.parametrize("drawn", [False, True], ids=["middles", "drawn"])
def test_quantiles_match_the_slow_oracle(streams, own, drawn):
    head = QHead(8, actions=3, atoms=1, hidden=16, streams=streams, quantiles=4)
    features, noise = torch.randn(5, 8), head.sample_noise(5 if own else None, CPU)
    fractions = head.sample_fractions(5, CPU) if drawn else None
    found = head(features, noise, fractions)
    assert found.shape == (5, 3, 4)
    middles = [0.125, 0.375, 0.625, 0.875]
    for b in range(5):
        here = [(e_in[b], e_out[b]) for e_in, e_out in noise] if own else noise
        for n, fraction in enumerate(fractions[b].tolist() if drawn else middles):
            want = slow_quantile(head, features[b], here, fraction)
            torch.testing.assert_close(found[b, :, n], want, atol=1e-5, rtol=1e-4)
