import math

import numpy as np
import pytest
import torch

from retro_agents.ground.errors import UserError
from retro_agents.run.command_line import load_config
from retro_agents.run.config import flat, replaced, to_dict
from retro_agents.run.metrics import read_columns
from tests.runs import play
from trpo.agent import LogPolicy, make_net
from trpo.config import TRPOConfig
from trpo.train import PRESETS, run
from trpo.training import Training

QUICK = replaced(
    TRPOConfig(),
    timesteps=240,
    num_envs=2,
    device="cpu",
    image_height=36,
    image_width=36,
    hidden=32,
    encoder="data-efficient",
    rollout_steps=16,
    minibatches=2,
    epochs=2,
    checkpoint_every=100,
    gamma=0.9,
)


LONGER = replaced(QUICK, timesteps=6400, num_envs=4, rollout_steps=32, epochs=4, checkpoint_every=0)


def test_trpo_learns_the_corridor_within_its_trust_region(corridor, tmp_path):
    config = replaced(LONGER, max_kl=0.03)
    agent = run(corridor(4), config, tmp_path / "run")
    assert play(agent, corridor(1)) == 8.0  # the end; random play falls into the hole before 4
    columns = read_columns(tmp_path / "run/metrics.csv")
    assert len(columns["kl"]) == 50 and (columns["kl"] <= config.max_kl).all()
    assert (columns["step_share"] > 0.0).mean() > 0.9  # it moved
    assert columns["explained_variance"][-10:].mean() > 0.5


def test_the_penalised_surrogate_learns_the_corridor(corridor, tmp_path):
    config = replaced(LONGER, update="penalty", penalty=0.5, critic="apart")
    assert play(run(corridor(4), config, tmp_path / "run"), corridor(1)) == 8.0


def test_a_critic_that_is_not_to_be_trained_is_not(corridor, tmp_path):
    config = replaced(QUICK, update="penalty", critic="untrained")
    before = Training(config, 2).agent.net.state_dict()
    after = run(corridor(2), config, tmp_path / "run").net.state_dict()
    for name in before:
        assert torch.equal(before[name], after[name]) == name.startswith("value."), name
    assert "value_loss" not in read_columns(tmp_path / "run/metrics.csv")


def test_a_critic_apart_shares_nothing_with_the_policy():
    net = Training(QUICK, 2).agent.net
    policy, value = (
        {id(p) for p in ps} for ps in (LogPolicy(net).parameters(), net.value_parameters())
    )
    assert not policy & value and len(policy | value) == len(list(net.parameters()))


def test_untrained_policies_do_not_finish_the_corridor(corridor):
    agents = [Training(replaced(QUICK, seed=seed), 1).agent for seed in range(3)]
    assert np.mean([play(agent, corridor(1)) for agent in agents]) < 8.0


def test_a_run_starts_from_anothers_weights_and_not_from_another_critics(corridor, tmp_path):
    source = run(corridor(2), replaced(QUICK, timesteps=32), tmp_path / "source")
    config = replaced(QUICK, timesteps=2, seed=1)
    started = run(corridor(2), config, tmp_path / "new", init=tmp_path / "source")
    for name, value in source.net.state_dict().items():
        assert torch.equal(value, started.net.state_dict()[name])
    other = replaced(config, update="penalty", critic="untrained")
    with pytest.raises(UserError, match="critic"):
        run(corridor(2), other, tmp_path / "other", init=tmp_path / "source")


COMMON = {
    "timesteps": 2_000_000,
    "num_envs": 32,
    "rotate_every": 0,
    "distribution_mode": "easy",
    "start_level": 0,
    "frames": "0",
    "timeouts": "end",
    "encoder": "nature",
    "hidden": 128,
    "initialisation": "orthogonal",
    "rollout_steps": 256,
    "minibatches": 16,
    "gamma": 0.99,
    "lam": 0.95,
    "normalise_returns": True,
}
PUBLISHED = {
    "procgen": {
        **COMMON,
        "levels": "procgen:coinrun",
        "num_levels": 0,
        "update": "natural",
        "critic": "apart",
        "max_kl": 0.01,
        "cg_steps": 10,
        "damping": 0.1,
        "epochs": 5,
        "learning_rate": 1e-3,
    },
    "procgen-course": {
        **COMMON,
        "levels": "procgen:starpilot",
        "num_levels": 400,
        "backgrounds": False,
        "restrict_themes": True,
        "test_levels": "all",
        "evaluate_every": 8_192,
        "update": "penalty",
        "critic": "untrained",
        "penalty": 0.5,
        "epochs": 3,
        "learning_rate": 5e-4,
        "adam_epsilon": 1e-5,
        "gradient_norm": 0.5,
    },
}


@pytest.mark.parametrize("preset", PUBLISHED)
def test_a_preset_has_the_published_values(preset):
    config = load_config(TRPOConfig, ["--preset", preset], presets=PRESETS, command="")
    found = flat(to_dict(config))
    assert {name: found[name] for name in PUBLISHED[preset]} == PUBLISHED[preset]


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
