"""Everything SAC can be told, in one place."""

from dataclasses import dataclass
from typing import Literal

from retro_agents.contract.envs import EnvSettings
from retro_agents.games.families import TRAINING, env_settings
from retro_agents.ground.ranges import Count, Natural, NonNegative, Positive, Share, Threads, check
from retro_agents.judging.settings import EvaluationSettings
from retro_agents.nets.settings import NetSettings
from retro_agents.run.config import only_with
from retro_agents.run.settings import RunSettings


@dataclass(frozen=True)
class SACConfig:
    """Train a soft actor-critic: a policy and two critics that learn from a replay."""

    run: RunSettings = RunSettings(levels=TRAINING, timesteps=500_000, run_dir="runs/sac")
    env: EnvSettings = env_settings()
    evaluation: EvaluationSettings = EvaluationSettings()
    net: NetSettings = NetSettings()

    # What it starts from
    init_replay: Natural = only_with(100_000, "init")
    """Transitions taken over as a seed of the replay from the checkpoint given by init; 0: weights
    only."""

    # Where it goes
    log_every: Count = 1_000
    """Agent steps between rows of metrics.csv."""

    # The machine
    precision: Literal["auto", "fp32", "bf16"] = "fp32"
    """Arithmetic of the nets; losses and targets are fp32 either way. auto: bf16 on a GPU and on
    an x86 CPU where it is the faster (AMX, AMD's AVX-512)."""
    torch_threads: Threads = 0
    """CPU threads of the learner; 0: PyTorch decides."""

    # What is aimed at
    gamma: Share = 0.99
    """Discount per agent step."""
    entropy_target: Share = 0.98
    """Entropy that the temperature holds the policy at, as a share of that of uniform actions."""
    temperature: Positive = 1.0
    """Reward that a nat of entropy is worth, at the start; with init as it was there."""
    n_step: Count = 1
    """Rewards summed before bootstrapping."""
    target_rate: Share = 0.005
    """Share of the net that goes into its moving average, the target, at each update."""

    # What is remembered
    replay_size: Count = 200_000
    """Transitions remembered; 7.2 kB each at 84x84 grey."""
    prioritised: bool = False
    """Draw transitions by their last error instead of uniformly."""
    priority_alpha: NonNegative = only_with(0.6, "prioritised")
    """Exponent of the priorities (with prioritised)."""
    priority_beta: NonNegative = only_with(0.4, "prioritised")
    """Exponent of the importance weights (with prioritised)."""
    priority_epsilon: NonNegative = only_with(1e-6, "prioritised")
    """Added to every error before it becomes a priority (with prioritised)."""

    # Learning
    learning_starts: Natural = 20_000
    """Agent steps (with a seeded replay: transitions in it count) before the first update."""
    update_every: Count = 4
    """Agent steps per update."""
    batch_size: Count = 64
    """Transitions per update."""
    learning_rate: Positive = 3e-4
    """Of Adam: of policy and critics."""
    temperature_rate: Positive = 3e-4
    """Of Adam: of the logarithm of the temperature."""
    adam_epsilon: NonNegative = 1e-8
    """Of Adam."""
    gradient_norm: NonNegative = 0.0
    """Gradients are clipped to this norm; 0: never."""

    def __post_init__(self) -> None:
        check(self)
        self.evaluation.check_levels(self.run.levels, self.env)
        self.evaluation.check_log_every(self.log_every)


Config = SACConfig
NOT_INHERITED = {"sight_every": 0}
