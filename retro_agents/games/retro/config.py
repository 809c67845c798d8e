"""The settings of a level's environment: one dataclass, with the contest's values as defaults.

Only `backtracking` differs: the contest's reward is computed without it.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from retro_agents.contract.envs import EnvSpec
from retro_agents.ground.ranges import Count, Natural, Positive, Share, check
from retro_agents.run.fields import field, fields, machine, rules, shape

SEVEN = ("LEFT", "RIGHT", "LEFT DOWN", "RIGHT DOWN", "DOWN", "DOWN B", "B")
Frames = Annotated[int, Meta(ge=1, le=255, description="a whole number from 1 to 255")]
"""The engine counts a step's frames in a byte."""
Stack = Annotated[int, Meta(ge=1, le=256, description="a whole number from 1 to 256")]
"""As far back as Procgen's frames."""
ACTIONS = {7: SEVEN, 10: (*SEVEN, "", "LEFT B", "RIGHT B")}
"""Buttons that each action holds: the contest's seven actions, and the winner's ten."""


@dataclass(frozen=True)
class EnvConfig:
    """The environment: how a level is played. Durations are in agent steps, sizes in pixels."""

    actions: Literal[7, 10] = shape(7, group="The environment")
    """The contest's 7 actions, or 10 with no-op, LEFT+B and RIGHT+B."""
    frame_skip: Frames = rules(4)
    """Emulator frames per agent step."""
    stick_probability: Share = rules(0.25)
    """Probability that a changed action takes effect one frame late (sticky actions)."""
    episode_steps: Natural = rules(4_500)
    """Agent steps after which an episode is truncated; 0: never."""
    backtracking: bool = field(True, "reward")
    """Reward only new furthest progress, so that moving back costs nothing (AllowBacktracking)."""
    reward_scale: Positive = field(1.0, "reward")
    """Factor on the rewards that the agent learns from; reported returns stay unscaled."""
    image_height: Count = shape(84)
    """Height of an observation in pixels."""
    image_width: Count = shape(84)
    """Width of an observation in pixels."""
    colour: Literal["grey", "rgb"] = shape("grey")
    """Channels of a frame: grey has one, rgb three."""
    frame_stack: Stack = shape(4)
    """Frames in an observation, oldest first along the channels."""
    backend: Literal["native", "emulator"] = machine("native", "contest", group="The environment")
    """How BrambleDash is played: natively, which is many times faster, or in the emulator. Both are
    equal step for step. Other games are always played in the emulator."""
    scenario: str = rules("contest", "reward")
    """The integration's scenario file, which defines the reward and the end of an episode."""

    def __post_init__(self) -> None:
        check(self)

    def spec(self) -> EnvSpec:
        """What agents need to know about these settings."""
        channels = self.frame_stack * (1 if self.colour == "grey" else 3)
        return EnvSpec(
            family="retro",
            observation_shape=(channels, self.image_height, self.image_width),
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
        """An episode's raw rewards [T] -> rewards after AllowBacktracking and scaling, [T]."""
        gains = rewards
        if self.backtracking:
            totals = np.concatenate([[0.0], np.cumsum(rewards, dtype=np.float64)])
            gains = np.diff(np.maximum.accumulate(totals))
        return (gains * self.reward_scale).astype(np.float32)
