"""V-trace: values of states, estimated from the steps of an older policy.

Letters: T steps, N environments.
"""

import torch
from torch import Tensor


def vtrace(
    log_ratios: Tensor,
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    terminated: Tensor,
    ended: Tensor,
    *,
    gamma: float,
    rho_bar: float,
    c_bar: float,
) -> tuple[Tensor, Tensor]:
    """V-trace, all [T,N] -> targets of the values, advantages of the policy, both [T,N].

    log_ratios: log π(a|x) − log μ(a|x), for π that learns and μ that acted.
    next_values: of the state reached, before any reset; ignored where terminated, and equal to
    values[t+1] where the episode continues. ended: terminated or truncated.
    Source: Espeholt et al., arXiv:1802.01561, eq. 1 and section 4.2. Differs: the sum ends at a
    truncation, after its own bootstrapped difference.
    """
    ratios = log_ratios.exp()
    rho, c = ratios.clamp(max=rho_bar), ratios.clamp(max=c_bar)
    reached, goes_on = next_values * ~terminated, ~ended
    deltas = rho * (rewards + gamma * reached - values)
    carry = gamma * c * goes_on
    corrections = torch.zeros_like(deltas)  # v − V
    later = torch.zeros_like(deltas[0])
    for t in reversed(range(len(deltas))):
        later = corrections[t] = deltas[t] + carry[t] * later
    reached[:-1] += corrections[1:] * goes_on[:-1]  # from here on v of the next state
    return values + corrections, rho * (rewards + gamma * reached - values)
