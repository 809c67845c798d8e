"""sb3-contrib's QR-DQN on this project's environment, in its own workers.

Against Rainbow it does less: no priorities, no n-step, no noise, no dueling, no double. Its net is
fp32, its replay holds whole stacks twice over. Exploration is at its final rate from the start,
because random actions would skip the net.
"""

import functools
from typing import Any

import torch
from sb3_contrib import QRDQN
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import SubprocVecEnv
from torch import Tensor, nn

from lab.benchmarks.peers import stopwatch as shared
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.make import make_env
from retro_agents.nets.encoders import make_encoder


class SmallExtractor(BaseFeaturesExtractor):
    """The laptop preset's encoder and hidden layer. Pixels come divided by 255 already."""

    def __init__(self, observation_space: Any) -> None:
        super().__init__(observation_space, features_dim=256)
        encoder = make_encoder("data-efficient", observation_space.shape)
        self.layers = nn.Sequential(encoder, nn.Linear(encoder.features, 256), nn.ReLU())

    def forward(self, obs: Tensor) -> Tensor:
        """Pixels [B,C,H,W] -> [B,256]."""
        return self.layers(obs * 255.0)


def main() -> None:
    """Learn until the time is over; print one line."""
    options = shared.arguments(__doc__)
    torch.set_num_threads(options.threads)
    stopwatch = shared.Stopwatch(options.seconds)
    make = functools.partial(make_env, shared.LEVEL, EnvConfig(backend=options.backend))
    envs = SubprocVecEnv([make] * shared.WORKERS)
    small = {"features_extractor_class": SmallExtractor} if options.small else {}
    model = QRDQN(
        "CnnPolicy",
        envs,
        learning_rate=1e-4,
        buffer_size=shared.REPLAY_SIZE,
        learning_starts=shared.LEARNING_STARTS,
        batch_size=shared.BATCH_SIZE,
        train_freq=1,
        gradient_steps=shared.WORKERS // shared.STEPS_PER_UPDATE,
        target_update_interval=8_192,
        exploration_initial_eps=0.01,
        exploration_final_eps=0.01,
        policy_kwargs={"n_quantiles": options.quantiles, **small},
        device="cpu",
        seed=0,
    )
    model.learn(10**9, callback=lambda *_: not stopwatch.tick())
    shared.report(stopwatch.result())
    envs.close()


if __name__ == "__main__":
    main()
