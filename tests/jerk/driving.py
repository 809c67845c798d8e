"""Searches of made-up episodes on one level, without an environment."""

import numpy as np

from jerk.agent import JerkAgent
from jerk.config import JerkConfig
from jerk.episode import Plan, SearchEpisode
from jerk.learner import Shares, find_moves
from jerk.search import Search
from jerk.train import PRESETS
from retro_agents.games.retro.config import SEVEN
from retro_agents.run.command_line import load_config

LEVEL, NOBODY = "level", Shares()
MOVES = find_moves(SEVEN)


def rng(seed=0):
    return np.random.default_rng(seed)


def preset_config(name):
    return load_config(JerkConfig, ["--preset", name], presets=PRESETS, command="test")


def search_of(config, *, seed=0):
    return Search(JerkAgent(config), rng(seed))


def replay_of(search):
    """An episode that replays the best sequence."""
    return SearchEpisode(LEVEL, "replay", Plan.of(search.sequences.best(LEVEL)))


def drive(search, episode, rewards, *, shares=NOBODY):
    """Play an episode that earns these rewards -> its actions, or who had to choose them."""
    played = []
    for reward in rewards:
        action, player = search.next_action(episode, shares)
        played.append(player if action is None else action)
        episode.add(0 if action is None else action, reward)
    return played
