import pytest
import torch

from retro_agents.ground.errors import UserError
from retro_agents.run.metrics import read_columns
from tests.agents.tiny import tiny, train
from trpo.agent import LogPolicy
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
