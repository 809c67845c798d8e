"""What JERK's search on the page must equal: its episodes in Python, with the page's random draws.

python -m tests.web.learned     # writes web/tests/learned.json
"""

import json
import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from jerk.config import JerkConfig
from jerk.train import PRESETS
from jerk.training import Training
from retro_agents.contract.envs import ended_episodes
from retro_agents.games.families import make_for
from retro_agents.run.command_line import load_config
from tests.runs import ROOT
from tests.web.reference import GAME

FILE = ROOT / "web" / "tests" / "learned.json"
RUNS = (("RustCavern.Act2", 0), ("BrambleWood.Act1", 1), ("SkyIsles.Act2", 2))
STEPS = 8_000


class Draws:
    """web/src/learn/draws.ts, with the methods of NumPy's generator."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed).random

    def integers(self, low: int, high: int) -> int:
        return low + math.floor(self.random() * (high - low))

    def beta(self, a: float, b: float) -> float:
        one = self.gamma(a)
        return one / (one + self.gamma(b))

    def normal(self) -> float:
        size = math.sqrt(-2 * math.log(1 - self.random()))
        return size * math.cos(2 * math.pi * self.random())

    def gamma(self, shape: float) -> float:
        if shape < 1:
            larger = self.gamma(shape + 1)
            return larger * (1 - self.random()) ** (1 / shape)
        d = shape - 1 / 3
        c = 1 / math.sqrt(9 * d)
        while True:
            x = self.normal()
            v = (1 + c * x) ** 3
            if v <= 0:
                continue
            if math.log(1 - self.random()) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v


def learned(act: str, seed: int) -> dict[str, Any]:
    """Search an act, as jerk.train does."""
    with TemporaryDirectory() as folder:
        flags = ["--preset", "recovering", "--levels", f"{GAME}:{act}", "--seed", str(seed)]
        flags += ["--timesteps", str(STEPS), "--run-dir", str(Path(folder) / "run")]
        config = load_config(JerkConfig, flags, presets=PRESETS, command="")
        training, envs = Training(config, 1), make_for(config)
        training.search.rng = Draws(seed)  # type: ignore[assignment]
        obs = training.start(None, envs)
        returns, kinds = [], []
        for _ in range(STEPS):
            actions = training.search.actions(training.episodes, obs)
            obs, rewards, terminated, _, infos = envs.step(actions)
            training.add(actions, rewards)
            for episode in ended_episodes(infos):
                last, over = infos["final_obs"][0], bool(terminated[0])
                _, _, report = training.end(episode, last, terminated=over)
                returns.append(report["r"])
                kinds.append(report["kind"])
                training.begin_episode(0, obs[0], envs.levels[0])
        envs.close()
        best = training.sequences.best(f"{GAME}:{act}")
        assert best is not None
    return {
        "act": act,
        "seed": seed,
        "timesteps": STEPS,
        "returns": returns,
        "kinds": kinds,
        "best": best.actions.tolist(),
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps([learned(*run) for run in RUNS]) + "\n", encoding="utf-8")
