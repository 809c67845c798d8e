"""Everything IMPALA can be told, in one place."""

from dataclasses import dataclass
from typing import Literal

from retro_agents.contract.envs import EnvSettings
from retro_agents.experience.actors import ActorSettings
from retro_agents.games.families import TRAINING, env_settings
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import (
    Count,
    Momentum,
    Natural,
    NonNegative,
    Positive,
    Share,
    Threads,
    check,
)
from retro_agents.ground.schedules import parse_schedule
from retro_agents.judging.settings import EvaluationSettings
from retro_agents.nets.settings import Initialisation, NetSettings
from retro_agents.run.config import only_with
from retro_agents.run.settings import RunSettings


@dataclass(frozen=True)
class ImpalaConfig:
    """Train IMPALA: actors play with a policy that is a little older than the one that learns."""

    run: RunSettings = RunSettings(levels=TRAINING, run_dir="runs/impala")
    env: EnvSettings = env_settings()
    evaluation: EvaluationSettings = EvaluationSettings()
    net: NetSettings = NetSettings()
    acting: ActorSettings = ActorSettings()

    # The machine
    precision: Literal["auto", "fp32", "bf16"] = "fp32"
    """Arithmetic of the nets; losses and V-trace are fp32 either way. auto: bf16 on a GPU and
    on an x86 CPU where it is the faster (AMX, AMD's AVX-512)."""
    torch_threads: Threads = 0
    """CPU threads of the learner, each with a piece of a batch; 0: PyTorch decides."""
    accumulate: Count = 1
    """Pieces, of whole sequences, in which each thread computes its part of a batch's gradient: to
    save memory, or to keep to the cache."""

    # The net
    initialisation: Initialisation = "default"
    """Weights before the outputs (xavier-all: of these too); default: orthogonal but for impala's
    and mobilenet's convolutions, which have a way of their own."""
    recurrent: Literal["none", "gru", "lstm"] = "none"
    """Memory between the fully connected layer and the outputs, learned over a whole block."""
    recurrent_hidden: Count = only_with(256, "recurrent")
    """Units of that memory."""

    # Actors
    actor_ahead: Natural = only_with(1, "actors")
    """Blocks that an actor plays while the learner has not learned from its last one: more keep it
    busy, with older weights; 0: it waits."""

    # What is learned from
    rollout_steps: Count = 128
    """Agent steps of each environment in a block (the paper's unroll length)."""
    batch_size: Count = 1024
    """Agent steps learned from together: a multiple of rollout_steps."""
    epochs: Count = 1
    """Steps along the gradient of each batch, V-trace anew for each."""
    replay_batches: Natural = 0
    """Batches remembered, to be learned from again; 0: none. At 84x84x4 a batch of 1,024 steps
    takes 29 MB."""
    replay_proportion: NonNegative = only_with(1.0, "replay_batches")
    """Remembered batches learned from for each new one."""

    # Learning
    gamma: Share = 0.99
    """Discount per agent step."""
    rho_bar: Positive = 1.0
    """The most that a step weighs for being likelier now than it was (ρ̄): which policy the values
    are of."""
    c_bar: Positive = 1.0
    """The same of what later steps tell earlier ones (c̄): how fast that is learned."""
    optimiser: Literal["rmsprop", "adam"] = "rmsprop"
    """What steps along the gradient."""
    learning_rate: Positive = 6e-4
    """Of the optimiser."""
    learning_rate_schedule: str = "linear"
    """constant, linear, or points part:factor such as 0:1,0.5:0.3,1:0, joined by lines."""
    optimiser_epsilon: NonNegative = 0.01
    """Of either optimiser."""
    rmsprop_decay: Momentum = only_with(0.99, "optimiser=rmsprop")
    """Of RMSProp's mean of squares, per step."""
    value_weight: NonNegative = 0.5
    """Of the value loss (half the squared error, summed over the batch)."""
    entropy_weight: NonNegative = 0.01
    """Of the entropy bonus, summed over the batch."""
    gradient_norm: NonNegative = 40.0
    """Gradients, of losses summed over the batch, are clipped to this norm; 0: never."""

    def __post_init__(self) -> None:
        check(self)
        self.evaluation.check_levels(self.run.levels, self.env)
        parse_schedule(self.learning_rate_schedule)
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
NOT_INHERITED = {"actors": 0, "ray_address": "", "sight_every": 0}
