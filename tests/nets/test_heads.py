import torch

from retro_agents.nets.heads import ActorCriticHead


def test_actor_critic_gives_logits_and_every_value():
    head = ActorCriticHead(8, actions=3)
    features = torch.randn(4, 8)
    logits, values = head(features)
    torch.testing.assert_close(logits, features @ head.policy.weight.T)
    torch.testing.assert_close(values, features @ head.value.weight.T)
