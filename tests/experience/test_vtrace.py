import numpy as np
import pytest
import torch

from retro_agents.experience.vtrace import vtrace


def made(steps=30, num_envs=5):
    """A case in which next_values are those of the next step where the episode goes on."""
    rng = np.random.default_rng(0)
    log_ratios, rewards, values, next_values = rng.normal(size=(4, steps, num_envs))
    terminated, truncated = rng.random((2, steps, num_envs)) < 0.1
    ended = terminated | truncated
    next_values[:-1] = np.where(ended[:-1], next_values[:-1], values[1:])
    return {
        "log_ratios": log_ratios,
        "rewards": rewards,
        "values": values,
        "next_values": next_values,
        "terminated": terminated,
        "ended": ended,
    }


def found(case, **numbers):
    """What vtrace makes of a case, which it leaves as it was."""
    tensors = {name: torch.from_numpy(array.copy()) for name, array in case.items()}
    parts = [part.numpy() for part in vtrace(**tensors, **numbers)]
    assert all(np.array_equal(tensors[name], array) for name, array in case.items())
    return parts


def slow_target(case, s, n, *, gamma, rho_bar, c_bar):
    """Equation 1, term by term, to the end of the episode or of the block."""
    ratio = np.exp(case["log_ratios"][:, n])
    total, t = case["values"][s, n], s
    while t < len(ratio):
        product = np.prod([min(c_bar, ratio[i]) for i in range(s, t)])
        bootstrap = 0.0 if case["terminated"][t, n] else case["next_values"][t, n]
        difference = case["rewards"][t, n] + gamma * bootstrap - case["values"][t, n]
        total += gamma ** (t - s) * product * min(rho_bar, ratio[t]) * difference
        if case["ended"][t, n]:
            break
        t += 1
    return total


def slow_advantage(case, s, n, *, gamma, rho_bar, c_bar):
    """Section 4.2: rho (r + gamma v of the next state − V)."""
    steps = len(case["rewards"])
    if case["terminated"][s, n]:
        then = 0.0
    elif case["ended"][s, n] or s + 1 == steps:
        then = case["next_values"][s, n]
    else:
        then = slow_target(case, s + 1, n, gamma=gamma, rho_bar=rho_bar, c_bar=c_bar)
    rho = min(rho_bar, np.exp(case["log_ratios"][s, n]))
    return rho * (case["rewards"][s, n] + gamma * then - case["values"][s, n])


@pytest.mark.parametrize(
    ("gamma", "rho_bar", "c_bar"), [(0.99, 1.0, 1.0), (0.9, 2.0, 0.5), (1.0, 1e9, 1e9)]
)
def test_vtrace_equals_the_papers_sum(gamma, rho_bar, c_bar):
    case, numbers = made(), {"gamma": gamma, "rho_bar": rho_bar, "c_bar": c_bar}
    for fast, slow in zip(found(case, **numbers), (slow_target, slow_advantage), strict=True):
        expected = [[slow(case, s, n, **numbers) for n in range(5)] for s in range(30)]
        np.testing.assert_allclose(fast, expected, rtol=1e-9, atol=1e-9)
