"""What SAC remembers: the replay that it shares with others, of its config's sizes."""

from experience.replay import Replay, frames_of
from sac.config import SACConfig


def make_replay(config: SACConfig, num_envs: int) -> Replay:
    """An empty one. ValueError: it would be too short for anything."""
    return Replay(
        config.replay_size,
        num_envs,
        **frames_of(config.env.spec()),
        n_step=config.n_step,
        gamma=config.gamma,
        alpha=config.priority_alpha,
        epsilon=config.priority_epsilon,
        prioritised=config.prioritised,
    )
