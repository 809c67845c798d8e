"""Stable-Baselines3's PPO as a run of this project: flags, files and checkpoint of `ppo2.train`.

python -m lab.benchmarks.sb3_ppo --preset fast --levels bramble-train --run-dir runs/sb3

It plays the same environments from the same seeds with the same net; `settings` translates the
rest. A setting that it lacks is refused. Its last checkpoint is one of `ppo2`, so
that the same program plays with either's weights. Needs the `benchmarks` extra.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import VecEnv, VecNormalize
from torch import Tensor, nn

from ppo2.agent import PPO2Agent
from ppo2.config import PPO2Config
from ppo2.train import make_envs, parse, resolve
from retro_agents.contract.sb3 import SB3VecEnv
from retro_agents.games.families import train
from retro_agents.ground.device import prepare_device
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.seeding import seed_everything
from retro_agents.nets.actor_critic import ORTHOGONAL, make_actor_critic
from retro_agents.nets.encoders import encoder_of
from retro_agents.nets.settings import NetSettings
from retro_agents.run.config import flat, replaced, to_dict
from retro_agents.run.folder import Reports, reports

LACKING: dict[str, Any] = {
    **dict.fromkeys(("rnd", "novelty", "self_imitation"), 0.0),
    **dict.fromkeys(("dropout", "convolution_l2", "kl_penalty"), 0.0),
    **dict.fromkeys(("evaluate_every", "sight_every", "num_checkpoints", "video_every"), 0),
    "detour_after": 0,
    **dict.fromkeys(("augment", "encoder_parts"), ""),
    **dict.fromkeys(("resume", "auto_resume", "noisy"), False),
    "recurrent": "none",
    "value_clip_range": None,
    **dict.fromkeys(("learning_rate_schedule", "entropy_schedule"), "constant"),
}
"""Settings that Stable-Baselines3 lacks or handles differently, and the values that it supports."""
METRICS = {
    "explained_variance": "train/explained_variance",
    "policy_loss": "train/policy_gradient_loss",
    "value_loss": "train/value_loss",
    "kl": "train/approx_kl",
    "clipped": "train/clip_fraction",
}


def settings(config: PPO2Config) -> dict[str, Any]:
    """PPO's arguments, so that it does what `ppo2` does with these settings. Raises UserError if
    it cannot.

    Differs from `ppo2`, by Stable-Baselines3's design: fp32; advantages over N−1 rows' deviation;
    the clipped value loss is of the moved value alone, not the larger of two; minibatches mix steps
    of all environments; returns are scaled by their deviation so far at
    each step, not once per rollout.
    """
    values = flat(to_dict(config))
    for name, value in LACKING.items():
        if values[name] != value:
            raise UserError(
                f"Stable-Baselines3 cannot have {name} {values[name]!r} here; expected {value!r}"
            )
    ours = "orthogonal" if config.net.encoder in ORTHOGONAL else config.net.encoder
    initialisation = ours if config.initialisation == "default" else config.initialisation
    if config.normalise == "rollout" or initialisation != "orthogonal":
        raise UserError(
            "Stable-Baselines3 here needs normalise minibatch or never, and initialisation "
            f"orthogonal (the default of {', '.join(ORTHOGONAL)})"
        )
    return {
        "n_steps": config.rollout_steps,
        "batch_size": config.rollout_steps * config.run.num_envs // config.minibatches,
        "n_epochs": config.epochs,
        "gamma": config.gamma,
        "gae_lambda": config.lam,
        "learning_rate": config.learning_rate,
        "clip_range": config.clip,
        "clip_range_vf": config.clip if config.value_clip else None,
        "normalize_advantage": config.normalise == "minibatch",
        "ent_coef": config.entropy_weight,
        "vf_coef": 0.5 * config.value_weight,  # its value loss is the whole squared error
        "max_grad_norm": config.gradient_norm or math.inf,
        "seed": config.run.seed,
        "policy_kwargs": {  # this net, and nothing between it and its heads
            "features_extractor_class": Features,
            "features_extractor_kwargs": {"net": config.net},
            "net_arch": [],
            "normalize_images": False,  # the encoder does
            "optimizer_kwargs": {"eps": config.adam_epsilon},
        },
    }


class Features(BaseFeaturesExtractor):
    """The shared part of the net: convolutions and a hidden layer."""

    def __init__(self, space: Any, *, net: NetSettings) -> None:
        super().__init__(space, net.hidden)
        made = encoder_of(net, space.shape)
        # Initial weights are drawn into these, which is impossible in channels-last format.
        self.encoder = made.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        self.hidden = nn.Linear(made.features, net.hidden)

    def forward(self, obs: Tensor) -> Tensor:
        return torch.relu(self.hidden(self.encoder(obs)))


def wrapped(envs: Any, config: PPO2Config) -> VecEnv:
    """Environments for it, with rewards scaled as the settings say."""
    made = SB3VecEnv(envs, seed=config.run.seed)
    if not config.normalise_returns:
        return made
    gamma = config.gamma if config.return_gamma is None else config.return_gamma
    return VecNormalize(made, norm_obs=False, gamma=gamma)


class Recorder(BaseCallback):
    """Writes every ended episode and a row of metrics per rollout, and ends the run at its last
    step."""

    def __init__(self, report: Reports, timesteps: int) -> None:
        super().__init__()
        self.report, self.timesteps = report, timesteps

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if episode := info.get("episode_record"):
                self.report.episodes.log(self.num_timesteps, episode["env"], episode)
        whole = self.model.rollout_buffer.pos + 1 == self.model.n_steps  # type: ignore[attr-defined]
        return whole or self.num_timesteps < self.timesteps

    def _on_rollout_start(self) -> None:
        """The last rollout has been learned from; at the start there was none."""
        seen = self.logger.name_to_value
        if "train/loss" in seen:
            values = {name: float(seen[theirs]) for name, theirs in METRICS.items()}
            values["entropy"] = -float(seen["train/entropy_loss"])
            self.report.metrics.log(self.num_timesteps, values)
            self.report.progress.update(self.num_timesteps, values)

    _on_training_end = _on_rollout_start


def pairs(model: PPO, net: nn.Module) -> list[tuple[nn.Module, nn.Module]]:
    """Each part of Stable-Baselines3's net, and the same part of ours."""
    policy, ours = (model.policy, net)  # type: Any, Any
    features = policy.features_extractor
    return [
        (features.encoder, ours.encoder),
        (features.hidden, ours.hidden),
        (policy.action_net, ours.head.policy),
        (policy.value_net, ours.head.value),
    ]


def run(
    envs: Any, config: PPO2Config, run_dir: Path | str, init: Path | str | None = None
) -> PPO2Agent:
    """Train on `envs` for `timesteps` agent steps, as `ppo2.train.run` does."""
    config = replaced(config, precision="fp32")
    given = settings(config)
    device = prepare_device(config.run.device, threads=config.computing.torch_threads)
    seed_everything(config.run.seed)
    agent = PPO2Agent(make_actor_critic(config), config)
    model = PPO("CnnPolicy", wrapped(envs, config), device=device, **given)
    if init:
        agent.start_from(init)
        for theirs, ours in pairs(model, agent.net):
            theirs.load_state_dict(ours.state_dict())
    with reports(run_dir, config, "sb3", env_steps=0) as report:
        steps = config.run.timesteps
        model.learn(steps, callback=Recorder(report, steps), log_interval=10**9)
    for theirs, ours in pairs(model, agent.net):
        ours.load_state_dict(theirs.state_dict())
    agent.save(Path(run_dir) / "checkpoints")
    return agent


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Train as the command line says."""
    config = resolve(parse(argv))
    settings(config)
    train(run, config, make_envs(config))


if __name__ == "__main__":
    main()
