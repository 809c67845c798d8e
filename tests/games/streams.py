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


def assert_same(mine, theirs):
    """That each step gave the same."""
    for ours, other in zip(mine, theirs, strict=True):
        for a, b in zip(ours[:4], other[:4], strict=True):
            np.testing.assert_array_equal(a, b)
        assert ours[4:] == other[4:]
