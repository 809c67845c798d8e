import math

import torch

from retro_agents.nets.actor_critic import entropies, sample_actions
from retro_agents.nets.heads import ActorCriticHead


def test_actions_are_drawn_with_their_probabilities():
    log_probs = torch.log(torch.tensor([[0.1, 0.0, 0.6, 0.3]])).expand(10_000, 4)
    uniforms = (torch.arange(10_000) + 0.5) / 10_000
    counts = torch.bincount(sample_actions(log_probs, uniforms), minlength=4)
    assert counts.tolist() == [1000, 0, 6000, 3000]
    rounded_down = torch.log(torch.tensor([[0.3, 0.3, 0.3999]]))
    assert sample_actions(rounded_down, torch.tensor([0.99999])).tolist() == [2]


def test_entropies_lie_between_certain_and_uniform():
    logits = torch.tensor([[0.0, 0.0, 0.0], [90.0, 0.0, 0.0], [math.log(2.0), 0.0, -90.0]])
    mixed = -(2 / 3 * math.log(2 / 3) + 1 / 3 * math.log(1 / 3))
    found = entropies(logits.log_softmax(dim=1))
    torch.testing.assert_close(found, torch.tensor([math.log(3.0), 0.0, mixed]))


def test_actor_critic_gives_logits_and_every_value():
    head = ActorCriticHead(8, actions=3)
    features = torch.randn(4, 8)
    logits, values = head(features)
    torch.testing.assert_close(logits, features @ head.policy.weight.T)
    torch.testing.assert_close(values, features @ head.value.weight.T)
