"""A recording of the native engine, for the page's tests.

python -m tests.web.recording     # writes web/tests/recording.bk2 and recording.json
"""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_env
from tests.runs import ROOT
from tests.web.reference import GAME

FOLDER = ROOT / "web" / "tests"
ACT, STEPS = "TideGrotto.Act1", 150


def write() -> None:
    """Record drawn actions, most of them to the right."""
    draws = np.random.default_rng(5)
    with TemporaryDirectory() as folder:
        config = EnvConfig().with_raw_rewards()
        env = make_env(Level(GAME, ACT), config, record_dir=folder)
        env.reset(seed=5)
        total = 0.0
        for _ in range(STEPS):
            action = int(draws.choice([0, 1, 3, 5, 6], p=[0.1, 0.5, 0.1, 0.1, 0.2]))
            _, reward, terminated, _, _ = env.step(action)
            total += float(reward)
            assert not terminated
        env.close()
        (recording,) = Path(folder).glob("*.bk2")
        shutil.copy(recording, FOLDER / "recording.bk2")
    facts = {"act": ACT, "return": total, "frames": 4 * STEPS}
    (FOLDER / "recording.json").write_text(json.dumps(facts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
