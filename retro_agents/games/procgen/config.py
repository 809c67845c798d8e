"""The settings of Procgen's games: one dataclass, with the published benchmark's defaults."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.envs import EnvSpec
from retro_agents.contract.frames import parse_offsets
from retro_agents.games.procgen.games import ACTIONS
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, Natural, NonNegative, Positive, Share, check
from retro_agents.run.fields import field, fields, learning, machine, rules, shape

LAST_LEVEL = 2**31 - 1
SIZE, COLOURS = 64, 3


@dataclass(frozen=True)
class ProcgenConfig:
    """The environment (Procgen): which levels of the games, and what the agent observes."""

    distribution_mode: Literal["easy", "hard", "extreme", "memory", "exploration"] = rules(
        "easy", "fixed", group="The environment"
    )
    """Kind of levels; not every game has all. exploration: one fixed level, hard to explore."""
    start_level: Natural = rules(
        0, answers={"use_sequential_levels": "EnvPool draws levels at random, never in order"}
    )
    """Seed of the first level; used only with num_levels."""
    num_levels: Natural = rules(0)
    """Number of levels, from start_level on, of which each episode draws one; 0: all."""

    backgrounds: bool = rules(True)
    """Draw background images; otherwise the background is black."""
    restrict_themes: bool = rules(False, "fixed")  # changes how bigfish plays
    """Use one set of images for all levels."""
    monochrome: bool = rules(False, other_names=("use_monochrome_assets",))
    """Draw all objects as rectangles of one colour."""
    generated_assets: bool = rules(False, "fixed")
    """Randomise the look of objects in each level."""
    centre_agent: bool = rules(True)
    """Let the camera follow the player, in games that can; otherwise show the whole level."""
    velocity_info: bool = rules(False, other_names=("paint_vel_info",))
    """Paint the velocity into the upper left corner, in games that have one."""
    frames: str = shape("0")
    """Ages of an observation's frames in steps: 0 is the newest; 0,-3 adds one three back."""

    stick_probability: Share = rules(0.0)
    """Probability that the last action is repeated instead of the chosen one."""
    timeouts: Literal["cut", "end"] = learning("cut")
    """The time limit truncates an episode, whose value is bootstrapped, or ends it (the papers)."""
    shape_rewards: bool = field(False, "reward")
    """Learn from sign(r)(sqrt(|r| + 1) - 1) + 0.001 r; reported returns stay raw."""
    clip_rewards: NonNegative = field(0.0, "reward")
    """Clip the rewards that are learned from, after any shaping, to ± this; 0: never."""
    reward_scale: Positive = field(1.0, "reward")
    """Factor on the rewards that the agent learns from; reported returns stay unscaled."""
    env_threads: Count = machine(1)
    """CPU threads of the games; at least one per core in a resumed run. Results do not depend on
    it."""

    def __post_init__(self) -> None:
        check(self)
        parse_offsets(self.frames)
        if self.start_level and not self.num_levels:
            raise UserError(
                f"--num-levels 0 means all levels, whatever --start-level {self.start_level} says: "
                "give the number of levels too"
            )
        if self.start_level + self.num_levels > LAST_LEVEL:
            raise UserError(f"levels end at {LAST_LEVEL}: give a lower --start-level or fewer")
        if self.distribution_mode == "exploration" and self.num_levels:
            raise UserError("exploration mode has one fixed level: give --num-levels 0")

    def spec(self) -> EnvSpec:
        """What agents need to know about these settings."""
        back = parse_offsets(self.frames)
        return EnvSpec(
            family="procgen",
            observation_shape=(len(back) * COLOURS, SIZE, SIZE),
            frame_stack=len(back),
            steps_back=back,
            action_names=ACTIONS,
            frame_skip=1,
            rewards={name: getattr(self, name) for name in fields(self, "reward")},
            reward_scale=self.reward_scale,
        )

    def with_raw_rewards(self) -> "ProcgenConfig":
        """The same, but with rewards as the game gives them."""
        return replace(self, shape_rewards=False, clip_rewards=0.0, reward_scale=1.0)

    def learning_rewards(self, rewards: NDArray[np.floating]) -> NDArray[np.float32]:
        """Raw rewards [T] -> rewards after shaping, clipping and scaling, [T]."""
        if self.shape_rewards:
            rewards = np.sign(rewards) * (np.sqrt(np.abs(rewards) + 1.0) - 1.0) + 0.001 * rewards
        if self.clip_rewards:
            rewards = np.clip(rewards, -self.clip_rewards, self.clip_rewards)
        return (rewards * self.reward_scale).astype(np.float32)
