"""What environments give, step by step."""

import numpy as np

from retro_agents.contract.envs import ended_episodes


def played(envs, steps, *, seed):
    """So many steps of actions drawn by chance -> what each gave."""
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(steps):
        obs, rewards, terminated, truncated, infos = envs.step(random.integers(0, 7, envs.num_envs))
        rows.append((obs, rewards, terminated, truncated, ended_episodes(infos)))
    return rows
