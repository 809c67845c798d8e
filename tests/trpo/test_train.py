import math

import pytest
import torch

from retro_agents.ground.errors import UserError
from retro_agents.run.config import replaced
from retro_agents.run.metrics import read_columns
from tests.agents.tiny import tiny, train
from trpo.agent import LogPolicy, make_net
from trpo.training import Training

FLAGS = ["--rollout-steps", "16", "--epochs", "2", "--hidden", "32", "--gamma", "0.9"]
QUICK = tiny("trpo", *FLAGS)


def test_a_critic_that_is_not_to_be_trained_is_not(tmp_path):
    flags = ["--update", "penalty", "--critic", "untrained"]
    before = Training(tiny("trpo", *flags), 2).agent.net.state_dict()
    after = train("trpo", tmp_path, *flags).net.state_dict()
    for name in before:
        assert torch.equal(before[name], after[name]) == name.startswith("value."), name
    assert "value_loss" not in read_columns(tmp_path / "metrics.csv")


def test_a_critic_apart_shares_nothing_with_the_policy():
    net = Training(QUICK, 2).agent.net
    policy, value = (
        {id(p) for p in ps} for ps in (LogPolicy(net).parameters(), net.value_parameters())
    )
    assert not policy & value and len(policy | value) == len(list(net.parameters()))


def test_a_run_does_not_start_from_another_critic(trained, tmp_path):
    flags = ["--update", "penalty", "--critic", "untrained"]
    with pytest.raises(UserError, match="critic"):
        train("trpo", tmp_path, *flags, init=trained("trpo")[1])


@pytest.mark.parametrize("critic", ["apart", "untrained"])
def test_xavier_weights_reach_the_outputs_where_all_are_asked_for(critic):
    for initialisation, found in (("xavier", False), ("xavier-all", True), ("kaiming", False)):
        own = {"initialisation": initialisation, "critic": critic, "update": "penalty"}
        torch.manual_seed(0)
        net = make_net(replaced(QUICK, **own)).requires_grad_(False)
        policy = math.sqrt(6 / (32 + net.policy.out_features))
        value = math.sqrt(6 / (32 + 1))
        most = float(net.policy.weight.abs().max()), float(net.value.weight.abs().max())
        assert (0.9 * policy < most[0] <= policy and 0.8 * value < most[1] <= value) == found
