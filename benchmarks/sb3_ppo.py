"""Stable-Baselines3's PPO as a run of this project: flags, files and checkpoints of `ppo2.train`.

python -m benchmarks.sb3_ppo --preset fast --levels bramble-train --run-dir runs/sb3

It plays the same environments from the same seeds with the same net; `settings` says how the rest
is told to it. What it lacks is refused. A checkpoint is one of `ppo2`, so that the same program
plays with either's weights. Needs the `dev` extra.
"""

import dataclasses
import math
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from benchmarks.sb3_envs import Envs
from experiment.checkpoint import load_checkpoint, save_checkpoint
from experiment.config import subset
from experiment.device import prepare_device
from experiment.distributed import Group
from experiment.errors import UserError, command
from experiment.metrics import EpisodeLog, Metrics
from experiment.optimiser import optimiser_parts, restore_optimiser
from experiment.progress import Progress
from experiment.run_folder import RunFolder
from experiment.seeding import rng_state, seed_everything, set_rng_state
from nets.actor_critic import ActorCritic
from nets.encoders import make_encoder
from nets.transfer import load_net
from ppo2.agent import PPO2Agent, make_net
from ppo2.config import PPO2Config
from ppo2.train import make_envs, parse, resolve
from retro_env import EnvConfig, RetroVectorEnv, parse_levels

LACKING: dict[str, Any] = {
    "recurrent": "none",
    "noisy": False,
    "rnd": 0.0,
    "novelty": 0.0,
    "death_penalty": 0.0,
    "brightness": 0.0,
    "normalise_returns": False,
    "target_kl": 0.0,
    "learning_rate_schedule": "constant",
    "clip_schedule": "constant",
}
"""Settings that Stable-Baselines3 has not, or otherwise than here, and the value it can have."""
NEVER = 10**9
"""Rollouts between its own lines of text."""
ENCODERS = ("nature", "data-efficient")
"""Those that `ppo2` gives the initial weights that Stable-Baselines3 gives all."""
METRICS = {
    "explained_variance": "train/explained_variance",
    "policy_loss": "train/policy_gradient_loss",
    "value_loss": "train/value_loss",
    "kl": "train/approx_kl",
    "clipped": "train/clip_fraction",
}


def settings(config: PPO2Config) -> dict[str, Any]:
    """What PPO is constructed with to do what `ppo2` does. UserError: it cannot.

    Differs from `ppo2`, by Stable-Baselines3's own make: fp32; advantages over N−1 rows' deviation;
    the clipped value loss is of the moved value alone, not the larger of two; steps are dealt out
    to minibatches without regard to environments.
    """
    for name, value in LACKING.items():
        if getattr(config, name) != value:
            raise UserError(f"Stable-Baselines3 cannot have {name} {getattr(config, name)!r} here")
    if config.normalise == "rollout" or config.encoder not in ENCODERS:
        raise UserError(
            "Stable-Baselines3 here needs normalise minibatch or never, and an encoder "
            f"of {', '.join(ENCODERS)}"
        )
    return {
        "n_steps": config.rollout_steps,
        "batch_size": config.rollout_steps * config.num_envs // config.minibatches,
        "n_epochs": config.epochs,
        "gamma": config.gamma,
        "gae_lambda": config.lam,
        "learning_rate": config.learning_rate,
        "clip_range": config.clip,
        "clip_range_vf": config.clip if config.value_clip else None,
        "normalize_advantage": config.normalise == "minibatch",
        "ent_coef": config.entropy_weight,
        "vf_coef": 0.5 * config.value_weight,  # its value loss is the whole squared error
        "max_grad_norm": config.gradient_norm if config.gradient_norm > 0.0 else math.inf,
        "seed": config.seed,
        "policy_kwargs": {
            "features_extractor_class": Features,
            "features_extractor_kwargs": {"config": config},
            "net_arch": [],
            "normalize_images": False,  # the encoder does
            "optimizer_kwargs": {"eps": config.adam_epsilon},
        },
    }


class Features(BaseFeaturesExtractor):
    """The net of `ppo2` as far as policy and value share it."""

    def __init__(self, space: gymnasium.Space, config: PPO2Config) -> None:
        super().__init__(space, config.hidden)
        encoder = make_encoder(config.encoder, subset(config, EnvConfig).observation_shape)
        # Initial weights are drawn into these, which is impossible where they are channels last.
        self.encoder = encoder.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
        self.hidden = nn.Linear(encoder.features, config.hidden)

    def forward(self, obs: Tensor) -> Tensor:
        return torch.relu(self.hidden(self.encoder(obs)))


class Recorder(BaseCallback):
    """Writes episodes, a row of metrics and checkpoints, and ends the run at its last step."""

    def __init__(self, config: PPO2Config, run_dir: Path, net: ActorCritic) -> None:
        super().__init__()
        self.config, self.run_dir, self.net = config, run_dir, net
        self.recent: deque[float] = deque(maxlen=100)

    def open(self, *, start: int | None) -> None:
        """Begin to write, or go on after a checkpoint at step `start`."""
        self.metrics = Metrics(self.run_dir, resume_step=start)
        self.episodes = EpisodeLog(self.run_dir, resume_step=start)
        self.progress = Progress(self.config.timesteps, "sb3", start=start or 0)

    def close(self) -> None:
        self.metrics.close()
        self.episodes.close()

    def _on_step(self) -> bool:
        for episode in self.training_env.ended:  # type: ignore[attr-defined]
            self.episodes.log(self.num_timesteps, episode["env"], episode)
            self.recent.append(episode["r"])
        whole = self.model.rollout_buffer.pos + 1 == self.model.n_steps  # type: ignore[attr-defined]
        return whole or self.num_timesteps < self.config.timesteps

    def _on_rollout_start(self) -> None:
        """The last rollout was learned from; at the start there was none."""
        if "train/loss" not in self.logger.name_to_value:
            return
        self.report()
        every = self.config.checkpoint_every
        size = self.config.rollout_steps * self.config.num_envs
        if every > 0 and self.num_timesteps % every < size:
            self.save()

    def _on_training_end(self) -> None:
        if "train/loss" in self.logger.name_to_value:
            self.report()
        self.save()

    def report(self) -> None:
        """A row of metrics, of the last learning."""
        seen = self.logger.name_to_value
        values = {name: float(seen[theirs]) for name, theirs in METRICS.items()}
        values["entropy"] = -float(seen["train/entropy_loss"])
        if self.recent:
            values["mean_return"] = float(np.mean(self.recent))
        self.metrics.log(self.num_timesteps, values)
        self.progress.update(self.num_timesteps, values)

    def save(self) -> None:
        """Write a checkpoint that plays as an agent of `ppo2`, and that `restore` goes on from."""
        model: Any = self.model
        for theirs, ours in pairs(model, self.net):
            ours.load_state_dict(theirs.state_dict())
        adam, adam_rest = optimiser_parts(model.policy.optimizer)
        save_checkpoint(
            self.run_dir / "checkpoints",
            agent="ppo2",
            config=self.config,
            counters={"env_steps": model.num_timesteps},
            tensors={"net": self.net.state_dict(), "optimiser": adam},
            state={
                "optimiser": adam_rest,
                "envs": self.training_env.envs.save_states(),  # type: ignore[attr-defined]
                "starts": model._last_episode_starts.tolist(),
                "recent_returns": list(self.recent),
                "rng": rng_state(),
            },
        )

    def restore(self, model: PPO, envs: RetroVectorEnv) -> None:
        """Be what the last checkpoint, of a whole rollout, was."""
        saved = load_checkpoint(self.run_dir).of("ppo2")
        take(model, saved.tensors["net"], net=self.net, source=saved.folder)
        restore_optimiser(
            model.policy.optimizer, saved.tensors["optimiser"], saved.state["optimiser"]
        )
        model.num_timesteps = saved.counters["env_steps"]
        model._last_obs = envs.restore_states(saved.state["envs"])
        model._last_episode_starts = np.array(saved.state["starts"], bool)
        self.recent.extend(saved.state["recent_returns"])
        set_rng_state(saved.state["rng"])


def pairs(model: PPO, net: ActorCritic) -> list[tuple[nn.Module, nn.Module]]:
    """Each part of Stable-Baselines3's net, and the same of ours."""
    policy: Any = model.policy
    features = policy.features_extractor
    return [
        (features.encoder, net.encoder),
        (features.hidden, net.hidden),
        (policy.action_net, net.head.policy),
        (policy.value_net, net.head.value),
    ]


def take(model: PPO, weights: dict[str, Tensor], *, net: ActorCritic, source: Path | str) -> None:
    """Give PPO the weights of a net of `ppo2`, by way of `net`. UserError: of another shape."""
    load_net(net, weights, source=source, same="encoder and hidden")
    for theirs, ours in pairs(model, net):
        theirs.load_state_dict(ours.state_dict())


def run(
    envs: RetroVectorEnv, config: PPO2Config, run_dir: Path | str, init: Path | str | None = None
) -> PPO2Agent:
    """Train on `envs` for config.timesteps agent steps, as `ppo2.train.run` does."""
    config = dataclasses.replace(config, precision="fp32")
    values = settings(config)
    device = prepare_device(config.device, threads=config.torch_threads)
    seed_everything(config.seed)
    net = make_net(config)
    model = PPO("CnnPolicy", Envs(envs, seed=config.seed), device=device, **values)
    recorder = Recorder(config, Path(run_dir), net)
    if config.resume:
        RunFolder.open(run_dir)
        recorder.restore(model, envs)
    else:
        RunFolder.create(run_dir, config)
        if init:
            saved = load_checkpoint(init).of("ppo2")
            take(model, saved.tensors["net"], net=net, source=saved.folder)
    recorder.open(start=model.num_timesteps if config.resume else None)
    try:
        left = config.timesteps - model.num_timesteps
        model.learn(
            left, callback=recorder, log_interval=NEVER, reset_num_timesteps=not config.resume
        )
    finally:
        recorder.close()
    return PPO2Agent(net, config)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Train as the command line says."""
    config = parse(argv)
    config = resolve(config, levels=len(parse_levels(config.levels)))
    settings(config)
    envs = make_envs(config, Group())
    try:
        run(envs, config, config.run_dir, init=config.init or None)
    finally:
        envs.close()


if __name__ == "__main__":
    main()
