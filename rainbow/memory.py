"""What Rainbow remembers: the replay that it shares with others, of its config's sizes."""

from experience.replay import Replay
from rainbow.config import RainbowConfig


def make_replay(config: RainbowConfig, capacity: int, num_envs: int) -> Replay:
    """An empty one. ValueError: it would be too short for anything."""
    spec = config.env.spec()
    return Replay(
        capacity,
        num_envs,
        frame_shape=(spec.channels, *spec.observation_shape[1:]),
        frame_stack=spec.frame_stack,
        steps_back=spec.steps_back,
        difference=spec.difference,
        n_step=config.n_step,
        gamma=config.gamma,
        alpha=config.priority_alpha,
        epsilon=config.priority_epsilon,
        prioritised=config.prioritised,
    )
