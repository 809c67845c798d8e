import torch

from nets.heads import ActorCriticHead
from nets.noisy import sample_noises

CPU = torch.device("cpu")


def test_actor_critic_gives_logits_and_every_value():
    head = ActorCriticHead(8, actions=3)
    features = torch.randn(4, 8)
    logits, values = head(features)
    torch.testing.assert_close(logits, features @ head.policy.weight.T)
    torch.testing.assert_close(values, features @ head.value.weight.T)


def test_each_output_of_a_noisy_actor_critic_has_noise_of_its_own():
    head = ActorCriticHead(8, actions=3, noisy=True)
    features = torch.randn(4, 8)
    policy_noise, value_noise = sample_noises(head.layers(), 4, CPU)
    logits, values = head(features)
    noisy_logits, same_values = head(features, [policy_noise, None])
    same_logits, noisy_values = head(features, [None, value_noise])
    assert torch.equal(same_values, values) and torch.equal(same_logits, logits)
    assert not torch.equal(noisy_logits, logits) and not torch.equal(noisy_values, values)


def test_actor_critic_without_noisy_layers_draws_none():
    assert sample_noises(ActorCriticHead(8, actions=3).layers(), 4, CPU) == [None, None]
