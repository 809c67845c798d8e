"""EnvPool's Procgen beside the original package, which has an environment of its own."""

import json
import subprocess
from contextlib import closing

import numpy as np
import pytest

from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.procgen.film import ORIGINAL, original_python
from retro_agents.games.procgen.games import ACTIONS, GAMES
from retro_agents.games.procgen.vector import make_vec
from retro_agents.ground.errors import UserError

STEPS = 200


def ours(case):
    """Rewards and ends, as the original's script gives them."""
    config = ProcgenConfig(
        distribution_mode=case["mode"], start_level=case["level"], num_levels=1, timeouts="end"
    )
    rewards, ends = [], []
    with closing(make_vec(case["game"], num_envs=1, config=config, seed=0)) as envs:
        envs.reset(seed=0)
        for action in case["actions"]:
            _, reward, terminated, truncated, _ = envs.step(np.array([action]))
            rewards.append(float(reward[0]))
            ends.append(float(terminated[0] or truncated[0]))
    return [rewards, ends]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_rewards_and_ends_are_the_originals_in_all_games():
    try:
        python = original_python()
    except UserError as error:
        pytest.skip(f"the original cannot be installed: {error}")
    cases = [
        {
            "game": game,
            "mode": mode,
            "level": level,
            "actions": np.random.default_rng(level).integers(len(ACTIONS), size=STEPS).tolist(),
        }
        for game in GAMES
        for mode, level in (("easy", 7), ("hard", 123456))
    ]
    done = subprocess.run(
        [str(python), str(ORIGINAL)],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=True,
    )
    theirs, differ = json.loads(done.stdout.splitlines()[-1]), []
    for case, want in zip(cases, theirs, strict=True):
        if ours(case) != want:
            differ.append((case["game"], case["mode"], case["level"]))
    assert not differ and len(theirs) == 32
    assert sum(sum(ends) for _, ends in theirs) > 0
