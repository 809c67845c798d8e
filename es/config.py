"""Everything Evolution Strategies can be told, in one place."""

from dataclasses import dataclass
from typing import Any, Literal

from envs import TRAINING, EnvSettings, env_settings
from experiment.config import hidden
from experiment.errors import UserError
from experiment.ranges import (
    Count,
    Decay,
    Growth,
    Momentum,
    Natural,
    NonNegative,
    Positive,
    Share,
    check,
)
from experiment.run_settings import RunSettings


@dataclass(frozen=True)
class ESConfig:
    """Search the last layers of a policy by evolution: on many levels, or on the contest's one."""

    run: RunSettings = RunSettings(
        levels=TRAINING,
        timesteps=10_000_000,
        num_envs=1,
        rotate_every=0,
        run_dir="runs/es",
        checkpoint_every=1,
    )
    env: EnvSettings = env_settings()
    searched: tuple[dict[str, Any], ...] = hidden(())
    """Written by the run: the agent that is searched, one: its package's name and its config."""

    # The machine
    feature_cache: Natural = 10_000
    """Observations for which is remembered what the frozen layers make of them (2 kB each, 12.5 kB
    where nature's fully connected layer is searched); 0: none."""
    divide_update: bool = True
    """Where the search is over more weights than one block of noise has, each MPI process sums the
    noise of a share of them, and the sums are exchanged. Without it only returns ever travel."""

    # The untrained PPO2 that is searched without --init
    encoder: Literal["nature", "data-efficient", "impala", "mobilenet"] = "nature"
    """Its convolutions."""
    hidden: Count = 512
    """Units of its fully connected layer."""

    # What is searched
    layer: Literal["head", "fc"] = "head"
    """The last layer, or the fully connected one before it (1.6M weights with nature)."""
    rank: Natural = 0
    """Noise on a matrix is a product of two thin ones of this rank; 0: on each weight by itself."""

    # A generation
    pairs: Count = 16
    """Antithetic pairs of members per update: each plays with noise added, and taken off."""
    levels_per_generation: Natural = 2
    """Levels of a generation, drawn anew for each; 0: all. A member plays one episode on each."""
    levels_per_pair: Natural = 0
    """How many of them a pair plays, in turn; 0: all. One is best where pairs are few: as many
    episodes of more pairs tell more (README). Levels that only one pair plays are shaped to which
    member was better, whatever `shaping` says but returns."""
    evaluate_every: Natural = 1
    """Generations between noiseless evaluations of the current policy on their levels; 0: none."""
    evaluate_episodes: Count = 1
    """Episodes of an evaluation on each level."""
    start_steps: Natural = 0
    """Cap of an episode's agent steps in the first generation; 0: episode_steps at once. Episodes
    that the run does not begin itself, as in the contest, have no such cap."""
    steps_growth: Growth = 1.1
    """The cap grows by this factor per generation, up to episode_steps."""
    draw_actions: bool = False
    """Draw actions from the policy instead of taking the best one (logits)."""
    action_noise: Share = 0.0
    """Chance of a random action of a member at a step; evaluations have none."""

    # The update
    shaping: Literal["ranks", "sign", "z-score", "returns"] = "ranks"
    """What the update sees of a level's returns: centred ranks, the better one of each pair, the
    distance from the mean in standard deviations, or themselves."""
    sigma: Positive = 0.02
    """Standard deviation of the noise."""
    sigma_decay: Decay = 1.0
    """It shrinks by this factor per generation."""
    sigma_final: NonNegative = 1e-6
    """But not below this; above 0 where it shrinks."""
    optimiser: Literal["adam", "sgd"] = "adam"
    """Adam, or gradient ascent with momentum."""
    learning_rate: Positive = 0.01
    """Of the optimiser."""
    momentum: Momentum = 0.9
    """Of sgd; of adam it is the first beta."""
    weight_decay: NonNegative = 0.005
    """Pull of the searched weights towards zero, as part of the gradient."""

    def __post_init__(self) -> None:
        check(self)
        if self.run.rotate_every != 0:
            raise UserError("levels are drawn anew for each generation; leave rotate_every at 0")
        if self.sigma_decay < 1.0 and self.sigma_final == 0.0:
            raise UserError("sigma_decay takes the noise to 0; give a sigma_final above 0")
