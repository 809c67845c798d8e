import torch

from nets.actor_critic import sample_actions


def test_actions_are_drawn_with_their_probabilities():
    log_probs = torch.log(torch.tensor([[0.1, 0.0, 0.6, 0.3]])).expand(10_000, 4)
    uniforms = (torch.arange(10_000) + 0.5) / 10_000
    counts = torch.bincount(sample_actions(log_probs, uniforms), minlength=4)
    assert counts.tolist() == [1000, 0, 6000, 3000]
    rounded_down = torch.log(torch.tensor([[0.3, 0.3, 0.3999]]))
    assert sample_actions(rounded_down, torch.tensor([0.99999])).tolist() == [2]
