"""Stable-Baselines3's PPO learns on the act of a contest, with its own settings."""

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
agent = PPO("CnnPolicy", env, seed=int(os.environ["CONTEST_SEED"]), device="cpu")
with suppress(TimestepTimeoutError):
    agent.learn(2 * int(os.environ["CONTEST_STEPS"]))  # the contest ends it
