import dataclasses
from pathlib import Path

import numpy as np

from contest.evaluate import load, play_episodes
from retro_env import Level

PRETRAINED = Path(__file__).parents[2] / "rainbow" / "pretrained"
HOLD_RIGHT = 2_272  # on this act, see cartridge/levels/references.csv


def test_committed_weights_play_an_act_they_never_saw():
    policy, settings = load(str(PRETRAINED), device="cpu")
    level = Level("BrambleDash-Genesis-v0", "RustCavern.Act2")
    settings = dataclasses.replace(settings, episode_steps=400)
    episodes = play_episodes(policy, level, settings, episodes=2)
    assert np.mean([episode.r for episode in episodes]) > HOLD_RIGHT
