import math

import pytest
import torch

from retro_agents.ground.errors import UserError
from retro_agents.nets.actor_critic import choose, entropies, sample_actions
from retro_agents.nets.heads import ActorCriticHead


def test_actions_are_drawn_with_their_probabilities():
    log_probs = torch.log(torch.tensor([[0.1, 0.0, 0.6, 0.3]])).expand(10_000, 4)
    uniforms = (torch.arange(10_000) + 0.5) / 10_000
    counts = torch.bincount(sample_actions(log_probs, uniforms), minlength=4)
    assert counts.tolist() == [1000, 0, 6000, 3000]
    rounded_down = torch.log(torch.tensor([[0.3, 0.3, 0.3999]]))
    assert sample_actions(rounded_down, torch.tensor([0.99999])).tolist() == [2]


@pytest.mark.parametrize(
    ("play", "shares"),
    [
        ("best", [0.0, 1.0, 0.0]),
        ("draw", [0.2, 0.5, 0.3]),
        ("draw:0.5", [4 / 38, 25 / 38, 9 / 38]),
        ("epsilon:0.3", [0.1, 0.8, 0.1]),
    ],
)
def test_actions_are_chosen_as_the_way_to_play_says(play, shares):
    torch.manual_seed(0)
    log_probs = torch.tensor([0.2, 0.5, 0.3]).log().expand(20_000, 3)
    found = torch.bincount(choose(log_probs, play), minlength=3) / 20_000
    torch.testing.assert_close(found, torch.tensor(shares), atol=0.02, rtol=0.0)


@pytest.mark.parametrize("play", ["", "greedy", "draw:0", "draw:-1", "epsilon:1.5", "best:2"])
def test_an_unknown_way_to_play_is_refused(play):
    with pytest.raises(UserError, match="expected best, draw, draw:T"):
        choose(torch.zeros(1, 3), play)


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
