"""All settings of Rainbow, in one place."""

from dataclasses import dataclass
from typing import Literal

from retro_agents.contract.envs import EnvSettings
from retro_agents.experience.actors import ActorSettings
from retro_agents.experience.settings import AugmentationSettings
from retro_agents.games.families import TRAINING, env_settings
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, Finite, Natural, NonNegative, Positive, Share, check
from retro_agents.ground.schedules import parse_schedule
from retro_agents.judging.settings import EvaluationSettings
from retro_agents.nets.settings import ComputeSettings, NetSettings
from retro_agents.run.fields import fixed, learning, machine, memory, report, shape, start
from retro_agents.run.settings import RunSettings


@dataclass(frozen=True)
class RainbowConfig:
    """Train Rainbow: on rotating levels to pretrain it, on one level to play the contest."""

    run: RunSettings = RunSettings(levels=TRAINING, timesteps=500_000, run_dir="runs/rainbow")
    env: EnvSettings = env_settings()
    evaluation: EvaluationSettings = EvaluationSettings()
    net: NetSettings = NetSettings(play="best")
    computing: ComputeSettings = ComputeSettings()
    acting: ActorSettings = ActorSettings()
    augmentation: AugmentationSettings = AugmentationSettings()

    init_replay: Natural = start(100_000, only_with="init")
    """Transitions copied from the checkpoint given by init, which seed the replay; 0: only the
    weights are copied."""
    init_shrink: Share = start(1.0, only_with="init")
    """Fraction of each weight given by init, mixed with a fresh net's; 1: unchanged."""
    init_encoder: str = start("", "checkpoint", "once")
    """A checkpoint of any agent (or a .joblib of baselines' PPO2) whose convolutions are used."""
    log_every: Count = report(1_000)
    """Agent steps between rows of metrics.csv."""
    compile: bool = machine(False)
    """Compile the update with torch.compile (CUDA graphs on a GPU)."""

    block_steps: Count = learning(16, group="Actors", only_with="actors")
    """Agent steps of each environment that an actor sends at a time. It plays the next ones, with
    newer weights, while the learner learns from these."""

    streams: Literal["shared", "separate"] = shape("shared", group="The net", only_with="dueling")
    """Whether the dueling streams share a hidden layer or have one each."""

    double: bool = learning(True, group="The six improvements", only_with="munchausen=0")
    """Choose the next action with the online net, value it with the target net."""
    dueling: bool = shape(True)
    """Value and advantage streams."""
    noisy: bool = shape(True)
    """Explore by noise on the weights; if off, by epsilon-greedy."""
    prioritised: bool = memory(True)
    """Draw transitions by their last loss instead of uniformly."""
    distributional: bool = shape(True)
    """Learn the distribution of the return instead of its mean."""
    quantiles: Natural = shape(0)
    """Number of quantiles to learn, at fractions drawn anew each time (IQN; Dabney et al.,
    arXiv:1806.06923); 0: probabilities of fixed atoms (C51)."""
    n_step: Count = fixed(3)
    """Number of rewards summed before bootstrapping; 1: plain Q-learning."""

    gamma: Share = learning(0.99, group="The improvements' numbers")
    """Discount per agent step: a reward n steps later counts gamma^n times as much."""
    munchausen: Share = learning(0.0)
    """Fraction of the taken action's log-probability that is added to its reward, where the policy
    is a softmax of the target net's values (Vieillard et al., arXiv:2007.14430: 0.9); 0: none, and
    the next action is greedy. It does not apply to fixed atoms (C51)."""
    munchausen_temperature: Positive = learning(0.03, only_with="munchausen")
    """Temperature of that softmax, in scaled reward."""
    atoms: Count = shape(51, only_with="distributional", without="quantiles")
    """Number of atoms of the return distribution."""
    v_min: Finite = shape(-200.0, only_with="distributional", without="quantiles")
    """Return of the lowest atom, in scaled reward."""
    v_max: Finite = shape(200.0, only_with="distributional", without="quantiles")
    """Return of the highest atom, in scaled reward."""
    sigma0: NonNegative = start(0.5, only_with="noisy")
    """Initial noise of a noisy layer, times 1/sqrt(inputs); with init, the saved one, into which
    init_shrink mixes this."""
    epsilon_start: Share = learning(1.0, only_with="noisy=False")
    """Probability of a random action at the start (without noisy)."""
    epsilon_final: Share = learning(0.05, only_with="noisy=False")
    """Probability of a random action at the end (without noisy)."""
    epsilon_steps: Natural = learning(250_000, only_with="noisy=False")
    """Agent steps over which epsilon falls linearly."""
    epsilon_ladder: NonNegative = learning(0.0, only_with="noisy=False")
    """L in Ape-X's ladder: environment i of N acts randomly with probability
    epsilon^(1 + L i / (N - 1)), a single one with the mean of these; 0: all with epsilon."""
    replay_size: Count = memory(500_000, other_names=("buffer_size",))
    """Capacity of the replay in transitions, 7.1 kB each at 84x84 grey."""
    priority_alpha: NonNegative = learning(0.5, only_with="prioritised")
    """Exponent of the priorities."""
    priority_beta: NonNegative = learning(0.4, only_with="prioritised")
    """Exponent of the importance weights at the start."""
    priority_beta_final: NonNegative = learning(0.4, only_with="prioritised")
    """Exponent of the importance weights at the end; it changes linearly."""
    priority_beta_steps: Natural = learning(0, only_with="prioritised")
    """Agent steps until priority_beta_final is reached; 0: all timesteps of the run."""
    priority_epsilon: Positive = learning(0.1, only_with="prioritised")
    """Added to every loss before it becomes a priority."""
    initial_priorities: bool = learning(False)
    """Give new transitions their own loss as priority, as Ape-X's actors do; otherwise the largest
    one so far."""

    learning_starts: Natural = fixed(20_000, group="Learning")
    """Agent steps before the first update; transitions of a seeded replay count."""
    update_every: Count = fixed(4)
    """Agent steps per update."""
    batch_size: Count = learning(32)
    """Transitions in an update's batch."""
    learning_rate: Positive = learning(1e-4, common=True, other_names=("lr",))
    """Adam's learning rate."""
    learning_rate_schedule: str = learning("constant", other_names=("anneal_lr",))
    """Factor on the learning rate over the run: constant, linear (to 0), or points PART:FACTOR,
    joined by straight lines, such as 0:1,0.5:0.3,1:0."""
    adam_epsilon: Positive = learning(1e-8)
    """Adam's epsilon."""
    gradient_norm: NonNegative = learning(0.0, other_names=("grad_clip", "grad_eps"))
    """Gradients are clipped to this norm; 0: never."""
    target_every: Count = learning(8_192)
    """Agent steps between copies of the online net to the target net."""

    def __post_init__(self) -> None:
        check(self)
        self.evaluation.check_levels(self.run.levels, self.env)
        self.evaluation.check_log_every(self.log_every)
        self.acting.check_share(self.run.num_envs)
        self.augmentation.make(self.env.spec())  # raises UserError
        parse_schedule(self.learning_rate_schedule)
        if self.initial_priorities and not self.prioritised:
            raise UserError(
                "--initial-priorities is for prioritised replay: leave --no-prioritised out"
            )
        if self.quantiles and not self.distributional:
            raise UserError(
                "--quantiles are of a distribution: give --quantiles 0, or leave "
                "--no-distributional out"
            )
        if self.munchausen and self.distributional and not self.quantiles:
            raise UserError(
                "--munchausen is for quantiles or values: give --quantiles 8 or --no-distributional"
            )
        if self.distributional and (self.atoms == 1 or self.v_min >= self.v_max):
            raise UserError(
                f"a distribution needs v_min below v_max and 2 atoms or more, not {self.v_min:g}, "
                f"{self.v_max:g} and {self.atoms}; give other ones, or --no-distributional"
            )


Config = RainbowConfig
