"""What environments give, step by step."""

import numpy as np

from retro_agents.contract.envs import ended_episodes


def played(envs, steps, *, seed):
    """So many steps of actions drawn by chance -> what each gave."""
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(steps):
        *arrays, infos = envs.step(random.integers(envs.env_spec.actions, size=envs.num_envs))
        rows.append((*arrays, list(envs.levels), ended_episodes(infos)))
    return rows
