"""How the environment treats a level: one dataclass, the contest's values as defaults.

But for `backtracking`: the contest's reward is that without.
"""

from dataclasses import dataclass
from typing import Literal

from experiment.ranges import Count, Natural, Positive, Share, check


@dataclass(frozen=True)
class EnvConfig:
    """Settings of `make_env`. Lengths are in agent steps, sizes in pixels."""

    # The environment
    actions: Literal[7, 10] = 7
    """The contest's 7 actions, or 10 with no-op, LEFT+B and RIGHT+B."""
    frame_skip: Count = 4
    """Emulator frames per agent step."""
    stick_probability: Share = 0.25
    """Chance that a changed action comes one frame late."""
    episode_steps: Natural = 4_500
    """Agent steps after which an episode is cut; 0: never."""
    backtracking: bool = True
    """Reward new furthest progress only, so that going back costs nothing (AllowBacktracking)."""
    reward_scale: Positive = 1.0
    """Factor on the rewards that the agent sees; reported returns stay unscaled."""
    image_height: Count = 84
    """Pixels."""
    image_width: Count = 84
    """Pixels."""
    colour: Literal["grey", "rgb"] = "grey"
    """Channels of a frame: one or three."""
    frame_stack: Count = 4
    """Frames in an observation, oldest first along the channels."""
    scenario: str = "contest"
    """The integration's scenario file, which defines reward and end."""

    def __post_init__(self) -> None:
        check(self)  # also what the configs that inherit from this one add

    @property
    def channels(self) -> int:
        """Of one frame."""
        return 1 if self.colour == "grey" else 3

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """[C, H, W] of an observation: C = frame_stack × channels."""
        return self.frame_stack * self.channels, self.image_height, self.image_width
