"""All settings of SAC, in one place."""

from dataclasses import dataclass

from retro_agents.contract.envs import EnvSettings
from retro_agents.games.families import TRAINING, env_settings
from retro_agents.ground.ranges import Count, Natural, NonNegative, Positive, Share, check
from retro_agents.judging.settings import EvaluationSettings
from retro_agents.nets.settings import ComputeSettings, NetSettings
from retro_agents.run.fields import fixed, learning, memory, report, start
from retro_agents.run.settings import RunSettings


@dataclass(frozen=True)
class SACConfig:
    """Train a soft actor-critic: a policy and two critics that learn from a replay."""

    run: RunSettings = RunSettings(levels=TRAINING, timesteps=500_000, run_dir="runs/sac")
    env: EnvSettings = env_settings()
    evaluation: EvaluationSettings = EvaluationSettings()
    net: NetSettings = NetSettings()
    computing: ComputeSettings = ComputeSettings()

    init_replay: Natural = start(100_000, only_with="init")
    """Transitions copied from the checkpoint given by init, which seed the replay; 0: only the
    weights are copied."""
    log_every: Count = report(1_000)
    """Agent steps between rows of metrics.csv."""

    gamma: Share = learning(0.99, group="The objective")
    """Discount per agent step: a reward n steps later counts gamma^n times as much."""
    entropy_target: Share = learning(0.98)
    """Target entropy of the policy, as a fraction of the entropy of uniform actions."""
    temperature: Positive = fixed(1.0)
    """Initial temperature: the reward that a nat of entropy is worth; with init, the saved one."""
    n_step: Count = fixed(1)
    """Number of rewards summed before bootstrapping."""
    target_rate: Share = learning(0.005)
    """Fraction of the net that is mixed into its moving average, the target, at each update."""

    replay_size: Count = memory(200_000, group="The replay buffer", other_names=("buffer_size",))
    """Capacity of the replay in transitions, 7.1 kB each at 84x84 grey."""
    prioritised: bool = memory(False)
    """Draw transitions by their last error instead of uniformly."""
    priority_alpha: NonNegative = learning(0.6, only_with="prioritised")
    """Exponent of the priorities (with prioritised)."""
    priority_beta: NonNegative = learning(0.4, only_with="prioritised")
    """Exponent of the importance weights (with prioritised)."""
    priority_epsilon: Positive = learning(1e-6, only_with="prioritised")
    """Added to every error before it becomes a priority (with prioritised)."""

    learning_starts: Natural = fixed(20_000, group="Learning")
    """Agent steps before the first update; transitions of a seeded replay count."""
    update_every: Count = fixed(4)
    """Agent steps per update."""
    batch_size: Count = learning(64)
    """Transitions in an update's batch."""
    learning_rate: Positive = learning(3e-4, common=True, other_names=("lr",))
    """Adam's learning rate for policy and critics."""
    temperature_rate: Positive = learning(3e-4)
    """Adam's learning rate for the logarithm of the temperature."""
    adam_epsilon: Positive = learning(1e-8)
    """Adam's epsilon."""
    gradient_norm: NonNegative = learning(0.0, other_names=("grad_clip", "grad_eps"))
    """Gradients are clipped to this norm; 0: never."""

    def __post_init__(self) -> None:
        check(self)
        self.evaluation.check_levels(self.run.levels, self.env)
        self.evaluation.check_log_every(self.log_every)


Config = SACConfig
