"""All settings of Evolution Strategies, in one place."""

from dataclasses import dataclass
from typing import Any, Literal

from retro_agents.contract.envs import EnvSettings
from retro_agents.games.families import TRAINING, env_settings, level_names, of_procgen
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, Natural, NonNegative, Positive, check
from retro_agents.nets.parts import EncoderName
from retro_agents.run.fields import fixed, learning, report, shape
from retro_agents.run.settings import RunSettings


@dataclass(frozen=True)
class ESConfig:
    """Search a layer of a policy by evolution: on many levels, or on the contest's one."""

    run: RunSettings = RunSettings(
        levels=TRAINING,
        timesteps=10_000_000,
        num_envs=1,
        rotate_every=0,
        run_dir="runs/es",
        init="ppo2",
        checkpoint_every=1,
    )
    env: EnvSettings = env_settings()

    searched: tuple[dict[str, Any], ...] = shape((), flag=False)
    """Set by the run: the agent whose layers are searched: its package's name and its config."""

    encoder: EncoderName = fixed(
        "nature",
        group="The untrained PPO2 that is searched with --init ''",
        without="init",
        other_names=("architecture",),
    )
    """Convolutions of the net."""
    hidden: Count = fixed(512, without="init", other_names=("feature_dim",))
    """Units of its fully connected layer."""

    layer: Literal["head", "fc"] = fixed("fc", group="What is searched")
    """The fully connected layer (401,664 weights in ppo2/pretrained, 1.6M with nature), or the last
    one, behind it."""

    pairs: Count = learning(94, group="A generation")
    """Antithetic pairs of members per update: one adds the noise, one subtracts it."""
    levels_per_generation: Natural = learning(0)
    """Levels per generation, drawn anew each time; 0: all. Pairs take them in turn, one episode per
    member. On a level with a single pair, only the order of its returns counts, not the margin."""

    evaluate_every: Natural = report(1, group="A generation")
    """Generations between evaluations, in which the current policy without noise plays one episode
    on each of the generation's levels; 0: none."""
    draw_actions: bool = learning(False)
    """Sample actions from the policy instead of acting greedily (logits)."""

    sigma: Positive = learning(0.02, group="The update")
    """Standard deviation of the noise."""
    learning_rate: Positive = learning(0.01, common=True, other_names=("lr",))
    """Adam's learning rate."""
    weight_decay: NonNegative = learning(0.005)
    """Weight decay of the searched weights, as part of the gradient. A value from Salimans et
    al.'s code must be divided by sigma."""

    def __post_init__(self) -> None:
        check(self)
        if self.run.rotate_every != 0:
            raise UserError("levels are drawn anew for each generation; leave rotate_every at 0")
        games = level_names(self.run.levels) if of_procgen(self.run.levels) else []
        if 0 < self.levels_per_generation < len(games):
            raise UserError(
                "--levels-per-generation is for platform games; every generation plays all games "
                "of Procgen: give 0"
            )


Config = ESConfig
