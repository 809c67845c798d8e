"""Plays the original Procgen. Runs as a script in an environment of its own, see original.txt.

stdin is JSON: a list of {game, mode, level, actions}, with options of the original by their names.
The last line of stdout is JSON: the rewards and ends (0 or 1) of each case, step by step, every
episode on that level. With --film, for one case, stdout is the pictures before each action, uint8
[512,512,3], and the JSON is the last line of stderr.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from procgen import ProcgenGym3Env


def played(
    *,
    game: str,
    mode: str,
    level: int,
    actions: list[int],
    show: Callable[[Any], object] | None = None,
    **options: bool,
) -> list[list[float]]:
    """Returns the rewards and ends of these actions. show: called with each picture."""
    env: Any = ProcgenGym3Env(
        num=1,
        env_name=game,
        distribution_mode=mode,
        start_level=level,
        num_levels=1,
        render_mode="rgb_array" if show else None,
        **options,
    )
    rewards, ends = [], []
    for action in actions:
        if show:
            show(env.get_info()[0]["rgb"])
        env.act(np.array([action], np.int32))
        reward, _, first = env.observe()
        rewards.append(float(reward[0]))
        ends.append(float(first[0]))
    env.close()
    return [rewards, ends]


def main() -> None:
    """Play the cases from stdin."""
    cases = json.load(sys.stdin)
    if sys.argv[1:] == ["--film"]:
        out = sys.stdout.buffer
        rows = [played(**case, show=lambda picture: out.write(picture.tobytes())) for case in cases]
        print("\n" + json.dumps(rows), file=sys.stderr)
    else:
        print(json.dumps([played(**case) for case in cases]))


if __name__ == "__main__":
    main()
