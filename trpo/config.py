"""Everything TRPO can be told, in one place."""

from dataclasses import dataclass
from typing import Literal

from retro_agents.contract.envs import EnvSettings
from retro_agents.games.families import TRAINING, env_settings
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, NonNegative, Positive, Share, Threads, check
from retro_agents.judging.settings import EvaluationSettings
from retro_agents.nets.settings import Initialisation, NetSettings
from retro_agents.run.config import only_with
from retro_agents.run.settings import RunSettings


@dataclass(frozen=True)
class TRPOConfig:
    """Train TRPO: a policy that moves within a trust region, and a value net beside it."""

    run: RunSettings = RunSettings(levels=TRAINING, run_dir="runs/trpo")
    env: EnvSettings = env_settings()
    evaluation: EvaluationSettings = EvaluationSettings()
    net: NetSettings = NetSettings()

    # The machine
    torch_threads: Threads = 0
    """CPU threads of the nets; 0: PyTorch decides."""
    act_parts: Count = 2
    """Groups of environments: the emulators of one run while actions of the next are chosen."""
    piece: Count = 512
    """Rows of a rollout that a gradient or Fisher-vector product is computed of at a time."""

    # The nets
    initialisation: Initialisation = "default"
    """Weights before the outputs (xavier-all: of these too); default: orthogonal but for impala's
    and mobilenet's convolutions, which have a way of their own."""
    critic: Literal["apart", "untrained"] = "apart"
    """Values from a net like the policy's, fitted to the returns; untrained: from a second output
    of the policy's own net that nothing ever trains (the course's)."""

    # The rollout
    rollout_steps: Count = 128
    """Agent steps of each environment between two updates."""
    gamma: Share = 0.99
    """Discount per agent step."""
    lam: Share = 0.95
    """Lambda of generalised advantage estimation."""
    normalise_returns: bool = True
    """Divide rewards by the running standard deviation of their discounted sum."""

    # The policy's update
    update: Literal["natural", "penalty"] = "natural"
    """natural: one step along the natural gradient, as far as max_kl and a line search allow.
    penalty: Adam on the surrogate less penalty times the KL divergence."""
    max_kl: Positive = only_with(0.01, "update=natural")
    """natural: mean KL divergence, in nats, that no update exceeds."""
    cg_steps: Count = only_with(10, "update=natural")
    """natural: steps of conjugate gradients."""
    damping: NonNegative = only_with(0.1, "update=natural")
    """natural: added to the Fisher matrix's diagonal."""
    fisher_every: Count = only_with(1, "update=natural")
    """natural: the Fisher matrix is estimated from every so many-eth step of the rollout."""
    penalty: NonNegative = only_with(0.5, "update=penalty")
    """penalty: weight of the KL divergence (the course's beta)."""

    # Adam, for the critic apart and for the penalised surrogate
    learning_rate: Positive = 1e-3
    """Of Adam."""
    adam_epsilon: NonNegative = 1e-8
    """Of Adam."""
    epochs: Count = 5
    """Times that a rollout is learned from, shuffled anew each time."""
    minibatches: Count = 4
    """Parts of a rollout, each a step of Adam."""
    gradient_norm: NonNegative = 0.0
    """Each net's gradient is clipped to this norm; 0: never."""

    def __post_init__(self) -> None:
        check(self)
        self.evaluation.check_levels(self.run.levels, self.env)
        if self.rollout_steps % self.minibatches:
            raise UserError(
                f"rollout_steps ({self.rollout_steps}) must be a multiple of minibatches "
                f"({self.minibatches})"
            )
        if self.update == "natural" and self.critic == "untrained":
            raise UserError(
                "--critic untrained is for --update penalty; the natural gradient needs values"
            )


Config = TRPOConfig
NOT_INHERITED = {"sight_every": 0}
