"""What the page must equal: episodes of the shipped PPO2 on 20 acts, as checksums.

python -m tests.web.reference     # writes web/tests/reference.json
"""

import gzip
import json
import zlib
from typing import Any

import numpy as np
import torch

from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.integrations import PACK, act_names, file_of
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_env
from retro_agents.nets.actor_critic import sample_actions
from retro_agents.run.checkpoint import load_agent
from tests.runs import ROOT

FILE = ROOT / "web" / "tests" / "reference.json"
GAME = "BrambleDash-Genesis-v0"
ACTS, STEPS = 20, 500


class Row:
    """An act played by drawn actions; checksums of what it showed, paid and ended."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.seed, self.episodes = name, seed, 0
        self.env = make_env(Level(GAME, name), EnvConfig().with_raw_rewards())
        self.draws = np.random.default_rng([seed, 1])
        self.observations, self.rewards = 0, []
        self.actions: list[int] = []
        self.ends: list[int] = []
        self.begin()

    def begin(self) -> None:
        self.obs, _ = self.env.reset(seed=self.seed + 1000 * self.episodes)
        self.episodes += 1
        self.see()

    def see(self) -> None:
        self.observations = zlib.crc32(self.obs.tobytes(), self.observations)

    def step(self, action: int) -> None:
        self.obs, reward, terminated, truncated, _ = self.env.step(action)
        self.see()
        self.actions.append(action)
        self.rewards.append(round(4 * float(reward)))
        if terminated or truncated:
            self.ends.append(len(self.actions))
            self.begin()

    def result(self) -> dict[str, Any]:
        return {
            "act": self.name,
            "seed": self.seed,
            "observations": self.observations,
            "rewards": zlib.crc32(np.array(self.rewards, "<i4").tobytes()),
            "actions": zlib.crc32(np.array(self.actions, np.uint8).tobytes()),
            "return": sum(self.rewards) / 4,
            "ends": self.ends,
        }


def reference() -> list[dict[str, Any]]:
    """Play every third act, STEPS agent steps each."""
    pack = gzip.decompress(file_of(GAME, PACK).read_bytes())
    rows = [Row(name, seed) for seed, name in enumerate(act_names(pack)[::3][:ACTS])]
    agent = load_agent("ppo2")
    torch.set_num_threads(1)
    for _ in range(STEPS):
        images = torch.from_numpy(np.stack([row.obs for row in rows]))
        with torch.no_grad():
            log_probs = agent.outputs(images)["logits"].log_softmax(dim=1)
        uniforms = torch.tensor([row.draws.random() for row in rows], dtype=torch.float32)
        for row, action in zip(rows, sample_actions(log_probs, uniforms).tolist(), strict=True):
            row.step(action)
    return [row.result() for row in rows]


if __name__ == "__main__":
    FILE.write_text(json.dumps(reference(), indent=1) + "\n", encoding="utf-8")
