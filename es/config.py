"""Everything Evolution Strategies can be told, in one place."""

from dataclasses import dataclass
from typing import Any, Literal

from retro_agents.contract.envs import EnvSettings
from retro_agents.games.families import TRAINING, env_settings
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, Natural, NonNegative, Positive, check
from retro_agents.nets.settings import EncoderName
from retro_agents.run.config import hidden, only_with
from retro_agents.run.settings import RunSettings


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

    # The untrained PPO2 that is searched without --init
    encoder: EncoderName = only_with("nature", without="init")
    """Its convolutions."""
    hidden: Count = only_with(512, without="init")
    """Units of its fully connected layer."""

    # What is searched
    layer: Literal["head", "fc"] = "head"
    """The last layer, or the fully connected one before it (1.6M weights with nature)."""

    # A generation
    pairs: Count = 16
    """Antithetic pairs of members per update: each plays with noise added, and taken off."""
    levels_per_generation: Natural = 2
    """Levels of a generation, drawn anew for each; 0: all. Pairs take them in turn, one episode of
    each member on one. Where a level has one pair, only who was better counts, not by how much."""
    evaluate_every: Natural = 1
    """Generations between episodes of the current policy without noise, one on each of their
    levels; 0: none."""
    draw_actions: bool = False
    """Draw actions from the policy instead of taking the best one (logits)."""

    # The update
    sigma: Positive = 0.02
    """Standard deviation of the noise."""
    learning_rate: Positive = 0.01
    """Of Adam."""
    weight_decay: NonNegative = 0.005
    """Pull of the searched weights towards zero, as part of the gradient."""

    def __post_init__(self) -> None:
        check(self)
        if self.run.rotate_every != 0:
            raise UserError("levels are drawn anew for each generation; leave rotate_every at 0")


Config = ESConfig
NOT_INHERITED: dict[str, Any] = {}
