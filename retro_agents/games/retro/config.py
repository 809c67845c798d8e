"""How the environment treats a level: one dataclass, the contest's values as defaults.

But for `backtracking`: the contest's reward is that without.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.envs import EnvSpec
from retro_agents.ground.ranges import Count, Natural, Positive, Share, check
from retro_agents.run.fields import field, fields, machine, rules, shape

SEVEN = ("LEFT", "RIGHT", "LEFT DOWN", "RIGHT DOWN", "DOWN", "DOWN B", "B")
ACTIONS = {7: SEVEN, 10: (*SEVEN, "", "LEFT B", "RIGHT B")}
"""Buttons that each action holds: the contest's seven, and the winner's ten."""


@dataclass(frozen=True)
class EnvConfig:
    """The environment: how a level is played. Lengths are in agent steps, sizes in pixels."""

    actions: Literal[7, 10] = shape(7, group="The environment")
    """The contest's 7 actions, or 10 with no-op, LEFT+B and RIGHT+B."""
    frame_skip: Count = rules(4)
    """Emulator frames per agent step."""
    stick_probability: Share = rules(0.25)
    """Chance that a changed action comes one frame late."""
    episode_steps: Natural = rules(4_500)
    """Agent steps after which an episode is cut; 0: never."""
    backtracking: bool = field(True, "reward")
    """Reward new furthest progress only, so that going back costs nothing (AllowBacktracking)."""
    reward_scale: Positive = field(1.0, "reward")
    """Factor on the rewards that the agent sees; reported returns stay unscaled."""
    image_height: Count = shape(84)
    """Pixels."""
    image_width: Count = shape(84)
    """Pixels."""
    colour: Literal["grey", "rgb"] = shape("grey")
    """Channels of a frame: one or three."""
    frame_stack: Count = shape(4)
    """Frames in an observation, oldest first along the channels."""
    backend: Literal["native", "emulator"] = machine("native", "contest", group="The environment")
    """What plays BrambleDash: its own code, many times faster, or the emulator. They are equal step
    for step. Other games always play in the emulator."""
    scenario: str = rules("contest", "reward")
    """The integration's scenario file, which defines reward and end."""

    def __post_init__(self) -> None:
        check(self)

    @property
    def channels(self) -> int:
        """Of one frame."""
        return 1 if self.colour == "grey" else 3

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """[C, H, W] of an observation: C = frame_stack × channels."""
        return self.frame_stack * self.channels, self.image_height, self.image_width

    def spec(self) -> EnvSpec:
        """What agents know of these settings."""
        return EnvSpec(
            family="retro",
            observation_shape=self.observation_shape,
            frame_stack=self.frame_stack,
            action_names=ACTIONS[self.actions],
            frame_skip=self.frame_skip,
            rewards={name: getattr(self, name) for name in fields(self, "reward")},
            reward_scale=self.reward_scale,
        )

    def with_raw_rewards(self) -> "EnvConfig":
        """The same, but with rewards as the scenario gives them."""
        return replace(self, backtracking=False, reward_scale=1.0)

    def learning_rewards(self, rewards: NDArray[np.floating]) -> NDArray[np.float32]:
        """Raw rewards [T] of an episode -> as AllowBacktracking and the scale make them, [T]."""
        gains = rewards
        if self.backtracking:
            totals = np.concatenate([[0.0], np.cumsum(rewards, dtype=np.float64)])
            gains = np.diff(np.maximum.accumulate(totals))
        return (gains * self.reward_scale).astype(np.float32)
