"""RLlib's IMPALA, SAC and DQN on this project's Procgen. Runs in its own environment.

They have the encoder of this project, and the numbers of its config, as far as RLlib has them:
`CONFIGS` says how. Environments are EnvPool's own, without what this project puts around them.
"""

import argparse
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import gymnasium
import numpy as np
import ray
import torch
from gymnasium.vector import AutoresetMode, VectorEnv
from ray.rllib.algorithms.algorithm_config import AlgorithmConfig
from ray.rllib.algorithms.dqn import DQNConfig
from ray.rllib.algorithms.dqn.dqn_catalog import DQNCatalog
from ray.rllib.algorithms.impala import IMPALAConfig
from ray.rllib.algorithms.ppo.ppo_catalog import PPOCatalog
from ray.rllib.algorithms.sac import SACConfig
from ray.rllib.algorithms.sac.sac_catalog import SACCatalog
from ray.rllib.core.models.base import ENCODER_OUT, Encoder
from ray.rllib.core.models.configs import ModelConfig
from ray.rllib.core.models.torch.base import TorchModel
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from torch import Tensor, nn

from lab.benchmarks.peers.stopwatch import Stopwatch, cpu_of_family, report
from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.procgen.pool import open_pool
from retro_agents.nets.encoders import encoder_of
from retro_agents.nets.settings import NetSettings

Values = Mapping[str, Any]
"""A config of this project, flat."""


class Coinrun(VectorEnv):
    """EnvPool's, which begins an episode with the step after the one that ended the last, as RLlib
    wants it."""

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012  Gymnasium's form

    def __init__(self, values: Values) -> None:
        self.num_envs = values["num_envs"]
        settings = ProcgenConfig(**{one.name: values[one.name] for one in fields(ProcgenConfig)})
        self.pool = open_pool("coinrun", settings, [*range(self.num_envs)])
        self.single_observation_space = gymnasium.spaces.Box(0, 255, (3, 64, 64), np.uint8)
        self.single_action_space = gymnasium.spaces.Discrete(15)
        batched = gymnasium.vector.utils.batch_space
        self.observation_space = batched(self.single_observation_space, self.num_envs)
        self.action_space = batched(self.single_action_space, self.num_envs)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        """New episodes of all."""
        return self.pool.reset()[0], {}

    def step(self, actions: np.ndarray) -> tuple[Any, ...]:
        """A game's time limit ends an episode."""
        obs, rewards, terminated, truncated, _ = self.pool.step(actions.astype(np.int32))
        return obs, rewards, terminated | truncated, np.zeros_like(truncated), {}


@dataclass
class EncoderConfig(ModelConfig):
    """This project's encoder, and a fully connected layer where that is asked for."""

    image: tuple[int, int, int] = (3, 64, 64)
    net: NetSettings = field(default_factory=NetSettings)
    with_hidden: bool = False

    def build(self, framework: str) -> Encoder:
        return OwnEncoder(self)

    @property
    def output_dims(self) -> tuple[int]:
        features = encoder_of(self.net, self.image).features
        return (self.net.hidden if self.with_hidden else features,)


class OwnEncoder(TorchModel, Encoder):
    """See `EncoderConfig`."""

    def __init__(self, config: EncoderConfig) -> None:
        TorchModel.__init__(self, config)
        encoder = encoder_of(config.net, config.image)
        layers: list[nn.Module] = [encoder]
        if config.with_hidden:
            layers += [nn.Linear(encoder.features, config.net.hidden), nn.ReLU()]
        self.layers = nn.Sequential(*layers)

    def _forward(self, inputs: dict[str, Tensor], **_: Any) -> dict[str, Tensor]:
        return {ENCODER_OUT: self.layers(inputs["obs"])}


def with_encoder(catalog: type) -> type:
    """A catalog of RLlib's that gives this project's encoder."""

    class Catalog(catalog):  # type: ignore[misc]
        @classmethod
        def _get_encoder_config(
            cls, observation_space: Any, model_config_dict: Any, **_: Any
        ) -> Any:
            return EncoderConfig(image=observation_space.shape, **model_config_dict["own"])

    return Catalog


def net(
    config: AlgorithmConfig,
    catalog: type,
    values: Values,
    *,
    with_hidden: bool = False,
    **more: Any,
) -> AlgorithmConfig:
    """The config with this project's net. more: of RLlib's model config."""
    settings = NetSettings(**{one.name: values[one.name] for one in fields(NetSettings)})
    own = {"net": settings, "with_hidden": with_hidden}
    return config.rl_module(
        rl_module_spec=RLModuleSpec(catalog_class=with_encoder(catalog)),
        model_config={"own": own, "head_fcnet_activation": "relu", **more},
    )


def impala(values: Values) -> AlgorithmConfig:
    """Two processes play, each one block at a time, while this one learns. By default a process of
    its own learns, others play on meanwhile, and what it has no time for is thrown away."""
    config = IMPALAConfig().env_runners(
        num_env_runners=RUNNERS,
        num_envs_per_env_runner=values["num_envs"] // RUNNERS,
        rollout_fragment_length=values["rollout_steps"],
    )
    config.learners(num_learners=0).training(
        train_batch_size_per_learner=values["batch_size"],
        num_epochs=values["epochs"],
        gamma=values["gamma"],
        lr=values["learning_rate"],
        grad_clip=values["gradient_norm"],
        vf_loss_coeff=values["value_weight"],
        entropy_coeff=values["entropy_weight"],
        timeout_s_sampler_manager=0.01,  # by default it asks without a pause
    )
    return net(
        config, PPOCatalog, values, with_hidden=True, head_fcnet_hiddens=[], vf_share_layers=True
    )


def off_policy(config: AlgorithmConfig, values: Values) -> AlgorithmConfig:
    """What both have: one process, and as many samples per step as this project's."""
    replay = {"type": "EpisodeReplayBuffer", "capacity": values["replay_size"]}
    if values["prioritised"]:
        exponents = {"alpha": values["priority_alpha"], "beta": values["priority_beta"]}
        replay |= {"type": "PrioritizedEpisodeReplayBuffer", **exponents}
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=values["num_envs"])
    return config.learners(num_learners=0).training(
        train_batch_size_per_learner=values["batch_size"],
        training_intensity=values["batch_size"] / values["update_every"],
        num_steps_sampled_before_learning_starts=values["learning_starts"],
        replay_buffer_config=replay,
        n_step=values["n_step"],
        gamma=values["gamma"],
    )


def sac(values: Values) -> AlgorithmConfig:
    """Twin critics, as this project's."""
    config = off_policy(SACConfig(), values).training(
        tau=values["target_rate"],
        actor_lr=values["learning_rate"],
        critic_lr=values["learning_rate"],
        alpha_lr=values["temperature_rate"],
    )
    return net(config, SACCatalog, values, head_fcnet_hiddens=[values["hidden"]])


def dqn(values: Values) -> AlgorithmConfig:
    """With all that makes Rainbow of it but noise."""
    config = off_policy(DQNConfig(), values).training(
        double_q=values["double"],
        dueling=values["dueling"],
        num_atoms=values["atoms"],
        v_min=values["v_min"],
        v_max=values["v_max"],
        epsilon=values["epsilon_final"],
        lr=values["learning_rate"],
        adam_epsilon=values["adam_epsilon"],
        grad_clip=values["gradient_norm"],
        target_network_update_freq=values["target_every"],
    )
    return net(config, DQNCatalog, values, head_fcnet_hiddens=[values["hidden"]])


CONFIGS: dict[str, Callable[[Values], AlgorithmConfig]] = {
    "impala": impala,
    "sac": sac,
    "rainbow": dqn,
}
"""By the name of this project's agent."""
RUNNERS = 2
"""Processes that play for IMPALA."""


def main() -> None:
    """Learn until the time is over; print one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("agent", choices=[*CONFIGS])
    parser.add_argument("--seconds", type=float, required=True, help="measured after the warm-up")
    parser.add_argument("--threads", type=int, required=True, help="CPU threads of torch")
    parser.add_argument("--warm-up", type=int, required=True, help="agent steps before that")
    parser.add_argument("--values", type=json.loads, required=True, help="a config of this project")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    ray.init(
        "local", num_cpus=8, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
    )
    values = options.values
    config = CONFIGS[options.agent](values)
    together = {"num_envs": config.num_envs_per_env_runner}
    config.environment(Coinrun, env_config={**values, **together})
    config.env_runners(gym_env_vectorize_mode="vector_entry_point")
    config.reporting(min_time_s_per_iteration=1, min_sample_timesteps_per_iteration=1)
    algorithm = config.build_algo()
    clock, steps, over = Stopwatch(options.seconds, options.warm_up, cpu=cpu_of_family), 0, False
    while not over:
        found = algorithm.train()
        if options.agent == "impala":  # what is played was not always learned from
            updates = algorithm.learner_group._learner._weights_seq_no
            reached = updates * values["batch_size"]
        else:
            reached = int(found["env_runners"]["num_env_steps_sampled_lifetime"])
        if reached > steps:
            over, steps = clock.tick(reached - steps), reached
    report(clock.result())
    ray.shutdown()  # its processes end, and do not disturb the next case
    os._exit(0)


if __name__ == "__main__":
    main()
