"""A parent to be killed: starts two workers, prints their process ids, and waits."""

import time

from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_vec

envs = make_vec(
    [Level("Airstriker-Genesis-v0", "Level1")], num_envs=2, config=EnvConfig(scenario="scenario")
)
envs.reset()
print(*envs.workers, flush=True)
time.sleep(600)
