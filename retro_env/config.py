"""How the environment treats a level: one dataclass, the contest's values as defaults."""

from dataclasses import dataclass
from typing import Literal

from experiment.errors import UserError


@dataclass(frozen=True)
class EnvConfig:
    """Settings of `make_env`. Lengths are in agent steps, sizes in pixels."""

    # The environment
    actions: Literal[7, 10] = 7
    """The contest's 7 actions, or 10 with no-op, LEFT+B and RIGHT+B."""
    frame_skip: int = 4
    """Emulator frames per agent step."""
    stick_probability: float = 0.25
    """Chance that a changed action comes one frame late."""
    episode_steps: int = 4_500
    """Agent steps after which an episode is cut; 0: never."""
    backtracking: bool = True
    """Reward new furthest progress only, so that going back costs nothing (AllowBacktracking)."""
    reward_scale: float = 1.0
    """Factor on the rewards that the agent sees; reported returns stay unscaled."""
    image_height: int = 84
    """Pixels."""
    image_width: int = 84
    """Pixels."""
    colour: Literal["grey", "rgb"] = "grey"
    """Channels of a frame: one or three."""
    frame_stack: int = 4
    """Frames in an observation, oldest first along the channels."""
    scenario: str = "contest"
    """The integration's scenario file, which defines reward and end."""

    def __post_init__(self) -> None:
        for name in ("frame_skip", "image_height", "image_width", "frame_stack"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.actions not in (7, 10):
            raise UserError(f"actions must be 7 or 10, not {self.actions}")
        if self.colour not in ("grey", "rgb"):
            raise UserError(f"colour must be grey or rgb, not {self.colour}")
        if not 0.0 <= self.stick_probability <= 1.0:
            raise UserError(f"stick_probability must be in [0, 1], not {self.stick_probability}")
        if self.episode_steps < 0:
            raise UserError(f"episode_steps must be 0 or more, not {self.episode_steps}")

    @property
    def channels(self) -> int:
        """Of one frame."""
        return 1 if self.colour == "grey" else 3

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """[C, H, W] of an observation: C = frame_stack × channels."""
        return self.frame_stack * self.channels, self.image_height, self.image_width
