"""Stable-Baselines3's PPO learns on the act of a contest, with RL Zoo's values for Atari.

RL Zoo steps 8 environments 128 times each; a contest has one, which is stepped 1,024 times.
"""

import os
from contextlib import suppress

import torch
from stable_baselines3 import PPO

from retro_agents import EnvConfig
from retro_agents.contest.wire.client import RemoteEnv
from retro_agents.contest.wire.protocol import TimestepTimeoutError
from retro_agents.games.retro.make import wrap_agent

torch.set_num_threads(1)
env = wrap_agent(RemoteEnv(os.environ["CONTEST_DIR"]), EnvConfig(reward_scale=0.01))
agent = PPO(
    "CnnPolicy",
    env,
    n_steps=1024,
    batch_size=256,
    n_epochs=4,
    learning_rate=lambda left: 2.5e-4 * left,
    clip_range=lambda left: 0.1 * left,
    ent_coef=0.01,
    seed=int(os.environ["CONTEST_SEED"]),
    device="cpu",
)
with suppress(TimestepTimeoutError):
    agent.learn(int(os.environ["CONTEST_STEPS"]))
