"""All settings of IMPALA, in one place."""

from dataclasses import dataclass
from typing import Literal

from retro_agents.contract.envs import EnvSettings
from retro_agents.experience.actors import ActorSettings
from retro_agents.experience.settings import AugmentationSettings
from retro_agents.games.families import TRAINING, env_settings
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, Momentum, Natural, NonNegative, Positive, Share, check
from retro_agents.ground.schedules import parse_schedule
from retro_agents.judging.settings import EvaluationSettings
from retro_agents.nets.settings import ComputeSettings, Initialisation, NetSettings
from retro_agents.run.fields import fixed, learning, machine, memory, shape, start
from retro_agents.run.settings import RunSettings


@dataclass(frozen=True)
class ImpalaConfig:
    """Train IMPALA: actors play with a policy slightly older than the learner's."""

    run: RunSettings = RunSettings(levels=TRAINING, run_dir="runs/impala")
    env: EnvSettings = env_settings()
    evaluation: EvaluationSettings = EvaluationSettings()
    net: NetSettings = NetSettings()
    computing: ComputeSettings = ComputeSettings()
    acting: ActorSettings = ActorSettings()
    augmentation: AugmentationSettings = AugmentationSettings()

    microbatches: Count = machine(1)
    """Microbatches of whole sequences into which each thread splits its part of a batch, to save
    memory or to fit the cache; their gradients are summed."""

    initialisation: Initialisation = start("default", group="The net", without="init")
    """Weights before the outputs (xavier-all: including them); default: orthogonal, except for
    impala's and mobilenet's convolutions, which have their own."""
    recurrent: Literal["none", "gru", "lstm"] = shape("none")
    """Recurrent layer before the outputs, trained over a whole block."""
    recurrent_hidden: Count = shape(256, only_with="recurrent")
    """Units of the recurrent layer."""

    actor_ahead: Natural = learning(1, group="Actors", only_with="actors")
    """Blocks that an actor may play before the learner has learned from its last one: more keep it
    busy, with older weights; 0: it waits."""

    rollout_steps: Count = fixed(
        128,
        group="What is learned from",
        other_names=("n_steps", "nsteps", "num_steps", "unroll_length"),
    )
    """Agent steps of each environment in a block (the paper's unroll length)."""
    batch_size: Count = fixed(1024)
    """Agent steps in a batch: a multiple of rollout_steps."""
    epochs: Count = learning(1, other_names=("update_epochs",))
    """Gradient steps on each batch, each with a new V-trace."""
    replay_batches: Natural = memory(0)
    """Batches kept for replay; 0: none. At 84x84x4 a batch of 1,024 steps takes 29 MB."""
    replay_proportion: NonNegative = learning(1.0, only_with="replay_batches")
    """Remembered batches that are learned from for each new one."""

    gamma: Share = learning(0.99, group="Learning")
    """Discount per agent step: a reward n steps later counts gamma^n times as much."""
    rho_bar: Positive = learning(1.0)
    """Maximum importance weight of a step (ρ̄); it decides which policy the values are of."""
    c_bar: Positive = learning(1.0)
    """The same maximum for the trace from later to earlier steps (c̄); it sets the speed."""
    optimiser: Literal["rmsprop", "adam"] = fixed("rmsprop")
    """Optimiser of the net."""
    learning_rate: Positive = learning(6e-4, common=True, other_names=("lr",))
    """Learning rate of the optimiser."""
    learning_rate_schedule: str = learning("linear", other_names=("anneal_lr",))
    """Factor on the learning rate over the run: constant, linear (to 0), or points PART:FACTOR,
    joined by straight lines, such as 0:1,0.5:0.3,1:0."""
    optimiser_epsilon: Positive = learning(0.01)
    """Epsilon of either optimiser."""
    rmsprop_decay: Momentum = learning(0.99, only_with="optimiser=rmsprop")
    """RMSProp's decay of the mean of squares, per step."""
    value_weight: NonNegative = learning(0.5, other_names=("value_coef", "vf_coef"))
    """Weight of the value loss (half the squared error, summed over the batch)."""
    entropy_weight: NonNegative = learning(0.01, other_names=("ent_coef", "entropy_coef"))
    """Weight of the entropy bonus, summed over the batch."""
    entropy_schedule: str = learning("constant", only_with="entropy_weight")
    """Factor on entropy_weight over the run, as for the learning rate."""
    gradient_norm: NonNegative = learning(40.0, other_names=("grad_clip", "grad_eps"))
    """Gradients, of losses summed over the batch, are clipped to this norm; 0: never."""

    def __post_init__(self) -> None:
        check(self)
        self.evaluation.check_levels(self.run.levels, self.env)
        parse_schedule(self.learning_rate_schedule)
        parse_schedule(self.entropy_schedule)
        self.augmentation.make(self.env.spec())  # raises UserError
        if self.batch_size % self.rollout_steps:
            raise UserError(
                f"batch_size ({self.batch_size}) must be a multiple of rollout_steps "
                f"({self.rollout_steps}): a batch is made of whole sequences"
            )
        if self.c_bar > self.rho_bar:
            raise UserError(
                f"c_bar ({self.c_bar:g}) must not exceed rho_bar ({self.rho_bar:g}); the paper has "
                "1 for both"
            )
        self.acting.check_share(self.run.num_envs)


Config = ImpalaConfig
