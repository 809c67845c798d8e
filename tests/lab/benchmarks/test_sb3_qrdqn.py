"""sb3-contrib's QR-DQN learns from the same settings, net and environments as Rainbow."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("sb3_contrib")

from sb3_contrib import QRDQN

from lab.benchmarks import sb3_qrdqn
from lab.benchmarks.sb3 import Envs
from rainbow.agent import make_net
from rainbow.config import RainbowConfig
from rainbow.train import parse
from retro_agents.ground.errors import UserError
from retro_agents.judging.score import read_episodes
from retro_agents.run.config import flat, replaced, to_dict
from retro_agents.run.metrics import read_columns

ENVS = 4
AS_IT_IS = ["--no-noisy", "--no-dueling", "--no-double", "--no-prioritised", "--quantiles", "20"]
SHARED = {  # used by the same code: levels, environments, net, when to stop, where files go
    "levels", "timesteps", "num_envs", "rotate_every", "run_dir", "seed", "device",
    "torch_threads", "actions", "frame_skip", "stick_probability", "episode_steps",
    "backtracking", "reward_scale", "image_height", "image_width", "colour", "frame_stack",
    "backend", "scenario", "encoder", "widths", "pool", "encoder_parts", "hidden", "track",
    "log_every",
}  # fmt: skip
TOLD = {
    "quantiles", "n_step", "gamma", "epsilon_start", "epsilon_final", "epsilon_steps",
    "replay_size", "learning_starts", "update_every", "batch_size", "learning_rate",
    "adam_epsilon", "gradient_norm", "target_every",
}  # fmt: skip
MEANINGLESS = {  # without what is lacking, of speed only, or of checkpoints
    "checkpoint_every",
    "init_replay", "init_shrink", "ray_address", "block_steps", "precision", "streams",
    "munchausen_temperature", "atoms", "v_min", "v_max", "sigma0", "priority_alpha",
    "priority_beta", "priority_beta_final", "priority_beta_steps", "priority_epsilon",
    "evaluate_episodes", "test_levels", "sight_episodes",
}  # fmt: skip


def small(**changes: Any) -> RainbowConfig:
    """The laptop preset without what QR-DQN lacks, for the corridor."""
    config = parse(["--preset", "laptop", *AS_IT_IS])
    config = replaced(
        config, num_envs=ENVS, timesteps=400, learning_starts=64, update_every=8, batch_size=8,
        epsilon_steps=100, epsilon_final=0.01, log_every=100, image_height=36, image_width=36,
        reward_scale=1.0, device="cpu", torch_threads=1,
    )  # fmt: skip
    return replaced(config, **changes)


def test_every_setting_is_shared_told_refused_or_meaningless() -> None:
    groups = [SHARED, TOLD, set(sb3_qrdqn.LACKING), MEANINGLESS]
    fields = set(flat(to_dict(RainbowConfig())))
    assert set.union(*groups) == fields
    assert sum(map(len, groups)) == len(fields)


def test_laptop_preset_is_told_field_by_field() -> None:
    words = ["--num-envs", "4", "--timesteps", "50000", "--epsilon-steps", "5000"]
    told = sb3_qrdqn.settings(parse(["--preset", "laptop", *AS_IT_IS, *words]))
    told.pop("policy_kwargs")
    assert told == {
        "learning_rate": 7e-4,
        "buffer_size": 50_000,
        "learning_starts": 2_000,
        "batch_size": 256,
        "gamma": 0.99,
        "n_steps": 10,
        "train_freq": 8,  # of each of 4 environments: an update per 32 steps
        "gradient_steps": 1,
        "target_update_interval": 2_000,
        "exploration_fraction": 0.1,
        "exploration_initial_eps": 1.0,
        "exploration_final_eps": 0.05,
        "max_grad_norm": 10.0,
        "seed": 0,
    }


@pytest.mark.parametrize(
    "lacking",
    [{"noisy": True}, {"double": True}, {"quantiles": 0}, {"update_every": 6}, {"init": "runs/x"}],
    ids=str,
)
def test_what_it_lacks_is_refused(lacking: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"Stable-Baselines3|QR-DQN"):
        sb3_qrdqn.settings(small(**lacking))


def test_its_net_is_ours_but_for_the_head(corridor: Callable[[int], Any]) -> None:
    config = small()
    model = QRDQN("CnnPolicy", Envs(corridor(ENVS), seed=0), **sb3_qrdqn.settings(config))
    theirs, ours = model.policy.quantile_net, make_net(config)
    shapes = [part.shape for part in ours.encoder.parameters()]
    features = theirs.features_extractor
    assert [part.shape for part in features.encoder.parameters()] == shapes
    assert features.hidden.weight.shape == (config.net.hidden, ours.encoder.features)
    images = torch.from_numpy(corridor(ENVS).reset()[0])
    features.encoder.load_state_dict(ours.encoder.state_dict())
    assert torch.allclose(features.encoder(images), ours.encoder(images), atol=1e-6)


def test_run_learns_to_its_last_step_and_leaves_its_files(
    corridor: Callable[[int], Any], tmp_path: Path
) -> None:
    model = sb3_qrdqn.run(corridor(ENVS), small(), tmp_path / "run")
    assert model.num_timesteps == 400
    assert model._n_updates == pytest.approx((400 - 64) / 8, abs=1)
    metrics = read_columns(tmp_path / "run" / "metrics.csv")
    assert metrics["step"].tolist() == [100, 200, 300, 400]
    assert np.isfinite(metrics["loss"]).all()
    episodes = read_episodes(tmp_path / "run")
    assert episodes and sum(one.l for one in episodes) <= 400
