"""How many pieces a minibatch is cut into, so that each stays in the cache: a short measurement."""

import sys
import time

import numpy as np
import torch

from ppo2.agent import PPO2Agent
from ppo2.config import PPO2Config
from ppo2.learner import Learner
from retro_agents.experience.rollouts import Rollout
from retro_agents.ground.device import THREADS, prepare_device
from retro_agents.nets.actor_critic import make_actor_critic
from retro_agents.run.config import replaced
from retro_agents.run.distributed import Group

LARGEST, SMALLEST = 512, 16
"""Rows of the pieces that are tried."""
SECONDS = 0.4
"""How long each is tried."""
BETTER = 0.97
"""Smaller pieces must take less than this part of the time of larger ones."""


def with_pieces(config: PPO2Config, num_envs: int) -> PPO2Config:
    """The config with a number of pieces where it asks for the fastest one, which is printed.

    num_envs: of this process; in a group all take what the first measured. A GPU takes one.
    """
    if config.accumulate:
        return config
    group, pieces = Group(), 1
    device = prepare_device(config.run.device)
    if group.first and device.type == "cpu" and not config.compile:
        threads = config.torch_threads or THREADS
        columns = config.rollout_steps * num_envs // config.minibatches // config.sequence_steps
        rows = fastest_rows(config, -(-columns // threads) * config.sequence_steps)
        pieces = max(1, columns * config.sequence_steps // threads // rows)
        print(f"ppo2: each thread's part of a minibatch in {pieces} pieces", file=sys.stderr)
    return replaced(config, accumulate=group.gather(pieces)[0])


def fastest_rows(config: PPO2Config, most: int) -> int:
    """Rows of a piece, up to `most`, that one thread learns from in the least time per row."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    device = torch.device("cpu")
    net = make_actor_critic(config)
    learner = Learner(net, replaced(config, accumulate=1), device=device, group=Group())
    state_size = PPO2Agent(net, config).no_state(1).shape[1]
    best, least = most, np.inf
    rows = min(most, max(LARGEST, config.sequence_steps))
    while rows >= max(SMALLEST, config.sequence_steps):
        taken = seconds_per_row(learner, config, rows // config.sequence_steps, state_size)
        if taken < BETTER * least:
            best, least = rows, taken
        rows //= 2
    torch.set_num_threads(threads)
    return best


def seconds_per_row(learner: Learner, config: PPO2Config, sequences: int, state_size: int) -> float:
    """Of a piece of so many sequences: gradients of empty images."""
    image = config.env.spec().observation_shape
    rollout = Rollout(
        config.sequence_steps,
        sequences,
        image=image,
        state_size=state_size,
        device=learner.device,
    )
    advantages = np.ones((rollout.steps, sequences), np.float32)
    batch = rollout.batch(advantages)
    indices = torch.arange(advantages.size).view(advantages.shape)
    work = (batch, indices, torch.from_numpy(advantages))
    learner._piece(*work, rows=advantages.size)  # what only a first time takes
    times: list[float] = []
    while sum(times) < SECONDS:
        began = time.perf_counter()
        learner._piece(*work, rows=advantages.size)
        times.append(time.perf_counter() - began)
    return min(times) / advantages.size
