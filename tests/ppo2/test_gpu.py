"""PPO2 on a GPU: updates as on the CPU, runs that go on."""

import dataclasses
from contextlib import closing

import numpy as np
import pytest
import torch

from ppo2.config import PPO2Config
from ppo2.learner import Learner
from ppo2.train import run
from retro_agents.experience.rollouts import Batch
from retro_agents.games.families import make_for
from retro_agents.run.config import replaced
from retro_agents.run.distributed import Group
from retro_agents.run.metrics import read_columns
from tests.agents.tiny import tiny
from tests.ppo2.test_learner import TINY, assert_same_weights, epochs_of, make_batch

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning:torch",
        "ignore:TensorFloat32",
        r"ignore:\s*Online softmax",  # torch.compile's, of few rows
    ),
]


def moved(value, device):
    """A batch, or what is in it, on that device."""
    if isinstance(value, Batch):
        names = [field.name for field in dataclasses.fields(value)]
        return Batch(**{name: moved(getattr(value, name), device) for name in names})
    if isinstance(value, list | tuple):
        return type(value)(moved(one, device) for one in value)
    return value.to(device) if isinstance(value, torch.Tensor) else value


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"compile": True},
        {"microbatches": 3},
        {"recurrent": "gru", "recurrent_hidden": 8, "sequence_steps": 4},
    ],
    ids=["eager", "compiled", "microbatches", "recurrent"],
)
def test_update_on_a_gpu_equals_the_one_on_the_cpu(flags):
    nets = []
    for device in ("cpu", "cuda"):
        config = replaced(TINY, **flags)
        net, batch = make_batch(config)
        config = replaced(config, compile=config.compile and device == "cuda")
        place = torch.device(device)
        learner = Learner(net.to(place), config, device=place, group=Group())
        for part in (0.0, 0.5):
            metrics = learner.update(moved(batch, place), epochs_of(config), part=part)
        assert np.isfinite(list(metrics.values())).all()
        nets.append(net.cpu())
    assert_same_weights(*nets, rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"precision": "bf16"},
        {"compile": True},
        {"recurrent": "lstm", "recurrent_hidden": 8, "sequence_steps": 8},
        {"recurrent": "gru", "recurrent_hidden": 8, "sequence_steps": 8, "precision": "bf16"},
        {"rnd": 0.1, "normalise_returns": True},
    ],
    ids=["plain", "bf16", "compiled", "recurrent", "recurrent in bf16", "curious"],
)
def test_a_run_on_a_gpu_goes_on_where_it_stopped(corridor, tmp_path, flags):
    config = tiny("ppo2", "--timesteps", 240, "--rollout-steps", 16, "--checkpoint-every", 100)
    config = replaced(config, device="cuda", **flags)
    run(corridor(2), replaced(config, timesteps=120), tmp_path / "run")
    run(corridor(2), replaced(config, resume=True), tmp_path / "run")
    assert read_columns(tmp_path / "run/metrics.csv")["step"][-1] == 224  # of 240: whole rollouts
    assert np.isfinite(read_columns(tmp_path / "run/metrics.csv")["value_loss"]).all()


def test_graphs_play_and_learn_as_single_kernels_do(tmp_path):
    sizes = {"num_envs": 64, "rollout_steps": 16, "minibatches": 4, "episode_steps": 20}
    nets, returns = [], []
    for graphs in (False, True):
        config = replaced(
            PPO2Config(), device="cuda", cuda_graphs=graphs, timesteps=6 * 64 * 16, **sizes
        )
        with closing(make_for(config)) as envs:
            agent = run(envs, config, tmp_path / str(graphs))
        nets.append(agent.net.cpu())
        returns.append(read_columns(tmp_path / str(graphs) / "metrics.csv")["mean_return"])
    np.testing.assert_allclose(*returns, rtol=0.05)
    assert_same_weights(*nets, rtol=5e-2, atol=5e-3)
