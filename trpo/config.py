"""All settings of TRPO, in one place."""

from dataclasses import dataclass
from typing import Literal

from retro_agents.contract.envs import EnvSettings
from retro_agents.games.families import TRAINING, env_settings
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, NonNegative, Positive, Share, Threads, check
from retro_agents.judging.settings import EvaluationSettings
from retro_agents.nets.parts import parse_parts
from retro_agents.nets.settings import Initialisation, NetSettings
from retro_agents.run.fields import fixed, learning, machine, memory, shape, start
from retro_agents.run.settings import RunSettings


@dataclass(frozen=True)
class TRPOConfig:
    """Train TRPO: a policy that moves within a trust region, and a separate value net."""

    run: RunSettings = RunSettings(levels=TRAINING, run_dir="runs/trpo")
    env: EnvSettings = env_settings()
    evaluation: EvaluationSettings = EvaluationSettings()
    net: NetSettings = NetSettings()

    torch_threads: Threads = machine(0)
    """CPU threads of the nets; 0: PyTorch decides."""
    act_parts: Count = machine(2)
    """Groups of environments: one group is stepped while the actions of the next are chosen."""

    initialisation: Initialisation = start("default", group="The nets", without="init")
    """Weights before the outputs (xavier-all: including them); default: orthogonal, except for
    impala's and mobilenet's convolutions, which have their own."""
    critic: Literal["apart", "untrained"] = shape("apart")
    """Values from a net like the policy's, fitted to the returns; untrained: from a second output
    of the policy's own net that is never trained (the course's)."""

    rollout_steps: Count = memory(
        128,
        group="The rollout",
        other_names=("n_steps", "nsteps", "num_steps", "unroll_length"),
    )
    """Agent steps of each environment between two updates."""
    gamma: Share = learning(0.99)
    """Discount per agent step: a reward n steps later counts gamma^n times as much."""
    lam: Share = learning(0.95, other_names=("gae_lambda", "lmbda"))
    """Lambda of generalised advantage estimation."""
    normalise_returns: bool = learning(True, other_names=("normalize_rew",))
    """Divide rewards by the running standard deviation of their discounted sum."""

    update: Literal["natural", "penalty"] = fixed("natural", group="The policy's update")
    """natural: one step along the natural gradient, as far as max_kl and a line search allow.
    penalty: Adam on the surrogate minus penalty times the KL divergence."""
    max_kl: Positive = learning(0.01, only_with="update=natural")
    """natural: maximum mean KL divergence of an update, in nats."""
    cg_steps: Count = learning(10, only_with="update=natural")
    """natural: number of conjugate gradient steps."""
    damping: NonNegative = learning(0.1, only_with="update=natural")
    """natural: added to the Fisher matrix's diagonal."""
    fisher_every: Count = learning(1, only_with="update=natural")
    """natural: estimate the Fisher matrix from every step of a rollout (1), every second (2), …"""
    penalty: NonNegative = learning(0.5, only_with="update=penalty", other_names=("beta",))
    """penalty: weight of the KL divergence (the course's beta)."""
    learning_rate: Positive = learning(1e-3, common=True, other_names=("lr",))
    """Adam's learning rate."""
    adam_epsilon: Positive = learning(1e-8)
    """Adam's epsilon."""
    epochs: Count = learning(5, other_names=("update_epochs",))
    """Passes over a rollout, shuffled anew each time."""
    minibatches: Count = learning(
        4,
        other_names=("mini_batch_per_epoch",),
        answers={"batch_size": "a minibatch has num_envs x rollout_steps / --minibatches rows"},
    )
    """Parts of a rollout, each a step of Adam."""
    gradient_norm: NonNegative = learning(0.0, other_names=("grad_clip", "grad_eps"))
    """Each net's gradient is clipped to this norm; 0: never."""

    def __post_init__(self) -> None:
        check(self)
        self.evaluation.check_levels(self.run.levels, self.env)
        if self.rollout_steps % self.minibatches:
            raise UserError(
                f"rollout_steps ({self.rollout_steps}) must be a multiple of minibatches "
                f"({self.minibatches})"
            )
        if self.run.num_envs * self.rollout_steps == 1:
            raise UserError(
                "a rollout of one step: its normalised advantage is 0; give more --rollout-steps"
            )
        if self.update == "natural" and self.critic == "untrained":
            raise UserError(
                "--critic untrained is for --update penalty; the natural gradient needs values"
            )
        parts = parse_parts(self.net.encoder_parts, self.net.encoder)
        if self.update == "natural" and "batch-norm" in parts:
            raise UserError(
                "--encoder-parts batch-norm has running moments, which no trust region bounds: "
                "leave it out, or give --update penalty"
            )


Config = TRPOConfig
