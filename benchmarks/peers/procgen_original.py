"""Plays Procgen's original. Runs in the environment of procgen.txt.

stdin: JSON, a list of {game, mode, level, actions}; stdout, last line: JSON, for each its rewards
and ends (0 or 1), step by step, each episode on that level.
"""

import json
import sys
from typing import Any

import numpy as np
from procgen import ProcgenGym3Env


def played(*, game: str, mode: str, level: int, actions: list[int]) -> list[list[float]]:
    """Rewards and ends of these actions."""
    env: Any = ProcgenGym3Env(
        num=1, env_name=game, distribution_mode=mode, start_level=level, num_levels=1
    )
    rewards, ends = [], []
    for action in actions:
        env.act(np.array([action], np.int32))
        reward, _, first = env.observe()
        rewards.append(float(reward[0]))
        ends.append(float(first[0]))
    env.close()
    return [rewards, ends]


if __name__ == "__main__":
    print(json.dumps([played(**case) for case in json.load(sys.stdin)]))
