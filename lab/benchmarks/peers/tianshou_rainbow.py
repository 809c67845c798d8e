"""Tianshou's Rainbow on this project's environment. Runs in its own environment.

All six improvements, with the parts and settings of its Atari example: C51 with 51 atoms, dueling
and noisy layers, double through its target, 3 steps, a prioritised replay that keeps the newest
frame of each stack only, observations through shared memory, and this project's numbers elsewhere.
Its net here has the streams on one hidden layer, as the contest's Rainbow has them: less work than
its example's two. Pixels are scaled in the net (its wrapper would do it in float64), and the
collector's check for NaN is off. Differs: no mixed precision; acts on mean weights; bootstraps
n-step returns from the observation after one step.
"""

import functools
from typing import Any

import gymnasium
import numpy as np
import torch
from tianshou.algorithm.modelfree.c51 import C51Policy
from tianshou.algorithm.modelfree.rainbow import RainbowDQN
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, PrioritizedVectorReplayBuffer
from tianshou.env import ShmemVectorEnv
from tianshou.env.atari.atari_network import DQNet
from tianshou.utils.net.discrete import NoisyLinear
from tianshou.utils.torch_utils import policy_within_training_step, torch_train_mode
from torch import Tensor, nn

from lab.benchmarks.peers import stopwatch as shared
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.make import make_env

ATOMS, V_MAX = 51, 200.0


class SharedRainbowNet(DQNet):
    """Its RainbowNet, with one hidden layer before both streams."""

    def __init__(self, shape: tuple[int, int, int], actions: int) -> None:
        channels, height, width = shape
        super().__init__(channels, height, width, [actions], features_only=True)
        self.actions = actions
        self.hidden = nn.Sequential(NoisyLinear(self.output_dim, 512), nn.ReLU(inplace=True))
        self.advantage = NoisyLinear(512, actions * ATOMS)
        self.value = NoisyLinear(512, ATOMS)
        self.output_dim = actions * ATOMS

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[Tensor, Any]:
        """Observations [B,C,H,W] -> probabilities [B,A,K]."""
        pixels = torch.as_tensor(obs, device="cpu", dtype=torch.float32) / 255.0
        hidden = self.hidden(self.net(pixels))
        advantage = self.advantage(hidden).view(-1, self.actions, ATOMS)
        value = self.value(hidden).view(-1, 1, ATOMS)
        logits = value + advantage - advantage.mean(dim=1, keepdim=True)
        return logits.softmax(dim=2), state


def make_algorithm(observation_space: Any, action_space: Any) -> RainbowDQN:
    """The learner, at the contest preset's numbers."""
    assert isinstance(action_space, gymnasium.spaces.Discrete)
    net = SharedRainbowNet(observation_space.shape, int(action_space.n))
    policy = C51Policy(
        model=net,
        action_space=action_space,
        observation_space=observation_space,
        num_atoms=ATOMS,
        v_min=-V_MAX,
        v_max=V_MAX,
    )
    return RainbowDQN(
        policy=policy,
        optim=AdamOptimizerFactory(lr=1e-4),
        gamma=0.99,
        n_step_return_horizon=3,
        target_update_freq=8_192 // shared.STEPS_PER_UPDATE,
    )


def main() -> None:
    """Collect and learn until the time is over; print one line."""
    options = shared.arguments(__doc__)
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 - its replay draws from there
    stopwatch = shared.Stopwatch(options.seconds)
    make = functools.partial(make_env, shared.LEVEL, EnvConfig(backend=options.backend))
    envs = ShmemVectorEnv([make] * shared.WORKERS)
    algorithm = make_algorithm(envs.observation_space[0], envs.action_space[0])
    replay = PrioritizedVectorReplayBuffer(
        shared.REPLAY_SIZE,
        buffer_num=shared.WORKERS,
        ignore_obs_next=True,
        save_only_last_obs=True,
        stack_num=4,
        alpha=0.5,
        beta=0.4,
        weight_norm=True,
    )
    collector = Collector(algorithm, envs, replay, raise_on_nan_in_buffer=False)
    collector.reset()
    with policy_within_training_step(algorithm.policy):
        while not stopwatch.tick():
            collector.collect(n_step=shared.WORKERS)
            if stopwatch.steps >= shared.LEARNING_STARTS:
                with torch_train_mode(algorithm):
                    for _ in range(shared.WORKERS // shared.STEPS_PER_UPDATE):
                        algorithm.update(buffer=replay, sample_size=shared.BATCH_SIZE)
    shared.report(stopwatch.result())
    envs.close()


if __name__ == "__main__":
    main()
