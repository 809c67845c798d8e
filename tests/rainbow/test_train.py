import copy

import numpy as np
import pytest
import torch

from rainbow.train import parse, run
from rainbow.training import Training
from retro_agents.ground.errors import UserError
from retro_agents.run.config import replaced
from tests.agents.tiny import tiny
from tests.conftest import Corridor

FLAGS = (
    "--timesteps 200 --hidden 64 --atoms 21 --v-min=-1 --v-max 10 --gamma 0.8 --replay-size 5000 "
    "--learning-starts 50 --update-every 4 --log-every 50 --checkpoint-every 100 "
    "--target-every 200 --learning-rate 1e-3"
)
QUICK = tiny("rainbow", *FLAGS.split())


def test_the_shipped_weights_bring_a_replay():
    training = Training(parse(["--preset", "ape-x-fast", "--num-envs", "4"]), 4)
    training.start_from("rainbow")
    assert training.seeded == training.replay.size == training.config.init_replay == 10_000
    batch = training.replay.sample(64, beta=0.4, rng=np.random.default_rng(0))
    assert batch.obs.shape == (64, 4, 84, 84) and len(np.unique(batch.actions)) > 3
    assert batch.obs.std() > 10 and batch.returns.any()


def test_convolutions_of_another_agent_can_be_taken_over(trained):
    other, folder = trained("ppo2")
    training = Training(tiny("rainbow", "--init-encoder", folder), 2)
    head = copy.deepcopy(training.agent.net.head)
    training.start(None, Corridor(2))
    for net in (training.agent.net, training.learner.target):
        for one, theirs in ((net.encoder, other.net.encoder), (net.head, head)):
            assert all(map(torch.equal, one.parameters(), theirs.parameters()))


@pytest.mark.parametrize(
    ("change", "give"),
    [
        ({"reward_scale": 0.5}, "--reward-scale 1.0"),
        ({"backtracking": False}, "--backtracking"),
        ({"frame_skip": 2}, "--frame-skip 4"),
        ({"scenario": "mine"}, "--scenario contest"),
    ],
)
def test_a_replay_is_not_begun_with_where_it_would_mean_something_else(
    trained, tmp_path, change, give
):
    source = trained("rainbow")[1]
    other = replaced(tiny("rainbow"), **change)
    with pytest.raises(UserError, match=give):
        Training(other, 1).start_from(source)
    training = Training(replaced(other, init_replay=0), 1)
    training.start_from(source)
    assert training.seeded == training.replay.size == 0
    Training(tiny("rainbow", "--n-step", 9), 1).start_from(source)  # returns are summed when drawn


def test_a_run_starts_from_a_share_of_the_weights(trained):
    other, folder = trained("rainbow")
    source = other.net.state_dict()
    training = Training(replaced(tiny("rainbow"), seed=5, init_shrink=0.25), 1)
    fresh = {name: tensor.clone() for name, tensor in training.agent.net.state_dict().items()}
    training.start_from(folder)
    for net in (training.agent.net, training.learner.target):
        for name, tensor in net.state_dict().items():
            wanted = 0.25 * source[name] + 0.75 * fresh[name]
            torch.testing.assert_close(tensor, wanted, msg=name)


@pytest.mark.parametrize(
    ("steps", "exponents"), [(0, [0.4, 0.6, 0.8, 0.8]), (100, [0.4, 0.8, 0.8, 0.8])]
)
def test_rate_and_importance_weights_follow_the_run(monkeypatch, steps, exponents):
    rate = {"learning_rate": 4e-4, "learning_rate_schedule": "0:1,1:0.5"}
    weights = {"priority_beta": 0.4, "priority_beta_final": 0.8, "priority_beta_steps": steps}
    training, found = Training(replaced(QUICK, **rate, **weights), 2), []
    (own,) = training.learner.optimiser.param_groups
    monkeypatch.setattr(training, "learn", lambda *, beta: found.append((own["lr"], beta)))
    for training.env_steps in (0, 100, 200, 202):  # of 200
        training.update()
    assert [lr for lr, _ in found] == pytest.approx([4e-4, 3e-4, 2e-4, 2e-4])
    assert [beta for _, beta in found] == pytest.approx(exponents)


def test_exploration_falls_and_the_target_is_copied_by_the_steps(corridor, tmp_path, monkeypatch):
    rates = {"noisy": False, "epsilon_start": 1.0, "epsilon_final": 0.2, "epsilon_steps": 100}
    config, copies = replaced(QUICK, target_every=80, **rates), []
    training = Training(config, 2)
    for training.env_steps, rate in ((0, 1.0), (50, 0.6), (150, 0.2)):
        assert training.epsilon() == pytest.approx([rate] * 2)
    monkeypatch.setattr("rainbow.learner.Learner.copy_target", lambda one: copies.append(one))
    run(corridor(2), config, tmp_path)
    assert len(copies) == 2  # in 200 steps


@pytest.mark.parametrize(
    ("v_min", "v_max", "times"), [(-1.0, 10.0, 0), (-1.0, 1.0, 1), (12.0, 20.0, 1)]
)
def test_a_run_whose_atoms_cannot_hold_the_returns_warns_once(
    corridor, tmp_path, capsys, v_min, v_max, times
):
    run(corridor(2), replaced(QUICK, v_min=v_min, v_max=v_max, log_every=4), tmp_path)
    said = capsys.readouterr().err
    atoms = f"of the targets are outside the atoms, --v-min {v_min:g} to --v-max {v_max:g}"
    assert said.count(atoms) == said.count("warning") == times
