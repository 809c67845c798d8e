"""Everything PPO2 can be told, in one place."""

from dataclasses import dataclass
from typing import Literal

from retro_agents.contract.envs import EnvSettings
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
class PPO2Config:
    """Train PPO2: on many levels at once to pretrain it, on one level to play the contest."""

    run: RunSettings = RunSettings(levels=TRAINING, run_dir="runs/ppo2")
    env: EnvSettings = env_settings()
    evaluation: EvaluationSettings = EvaluationSettings()
    net: NetSettings = NetSettings()

    # What is kept
    num_checkpoints: Natural = 0
    """Checkpoints evenly spread over the run, at most one per rollout, which all stay, instead of
    checkpoint_every, of which the newest two do; 0: none."""

    # The machine
    precision: Literal["auto", "fp32", "bf16"] = "fp32"
    """Arithmetic of the nets; losses and advantages are fp32 either way. auto: bf16 on a
    GPU and on an x86 CPU where it is the faster (AMX, AMD's AVX-512)."""
    compile: bool = False
    """Compile the learning step with torch.compile (CUDA graphs on a GPU; one thread on a CPU)."""
    torch_threads: Threads = 0
    """CPU threads of the learner, each with a piece of a minibatch; 0: PyTorch decides."""
    act_parts: Count = 2
    """Groups of environments: the emulators of one run while actions of the next are chosen."""

    # What is learned from
    augment: str = ""
    """Changes to images that are learned from, not to those acted on, in turn, commas between:
    flip, rotate, resized-crop, zoom, roll, pad-crop, cutout, cutout-colour, grey, jitter,
    convolution."""
    augment_share: Share = only_with(0.3, "augment")
    """Of the observations that each change is made to, drawn anew in each epoch."""
    dropout: Momentum = 0.0
    """Share of the fully connected layer's units that count for nothing while it is learned from,
    drawn anew in each epoch."""
    convolution_l2: NonNegative = 0.0
    """Weight of the sum of the encoder's squared weights in the loss."""

    # The net
    initialisation: Initialisation = "default"
    """Weights before the outputs (xavier-all: of these too); default: orthogonal but for impala's
    and mobilenet's convolutions, which have a way of their own."""
    recurrent: Literal["none", "gru", "lstm"] = "none"
    """Memory between the fully connected layer and the outputs."""
    recurrent_hidden: Count = only_with(256, "recurrent")
    """Units of that memory."""
    sequence_steps: Count = 1
    """Steps on end that a recurrent net learns from, 2 or more, up to a whole rollout; without one:
    1."""

    # The rollout
    rollout_steps: Count = 128
    """Agent steps of each environment between two rounds of learning (nsteps)."""
    minibatches: Count = 4
    """Parts of a rollout, each a step of Adam."""
    epochs: Count = 4
    """Times that a rollout is learned from, shuffled anew each time."""
    accumulate: Natural = 1
    """Microbatches that each thread splits its part of a minibatch into, to save memory or to keep
    to the cache; their gradients are added up. 0: on a CPU of about 128 rows, on a GPU one."""

    # Learning
    gamma: Share = 0.99
    """Discount per agent step."""
    lam: Share = 0.95
    """Lambda of generalised advantage estimation."""
    learning_rate: Positive = 2.5e-4
    """Of Adam."""
    learning_rate_schedule: str = "constant"
    """constant, linear, or points part:factor such as 0:1,0.5:0.3,1:0, joined by lines."""
    adam_epsilon: NonNegative = 1e-5
    """Of Adam."""
    clip: Positive = 0.1
    """How far the ratio of probabilities may profitably go from 1."""
    value_clip: bool = True
    """Clip the move of a value as well."""
    value_clip_range: Positive | None = only_with(None, "value_clip")
    """How far a value may profitably move, in units of returns; none given: as far as clip."""
    value_weight: NonNegative = 0.5
    """Of the value loss (half the squared error)."""
    entropy_weight: NonNegative = 0.01
    """Of the entropy bonus."""
    gradient_norm: NonNegative = 0.5
    """Gradients are clipped to this norm; 0: never."""
    kl_penalty: NonNegative = 0.0
    """Initial weight of the KL divergence in the loss; 0: none. After each rollout it is made half
    as large again, or half as large, where the divergence is above 2 or below 1/2 kl_aim."""
    kl_aim: Positive = only_with(0.01, "kl_penalty")
    """The divergence that this leads to, in nats."""
    normalise: Literal["minibatch", "rollout", "never"] = "minibatch"
    """Over what advantages get mean 0 and standard deviation 1."""
    normalise_returns: bool = True
    """Divide rewards by the running standard deviation of their discounted sum."""
    return_gamma: Share | None = only_with(None, "normalise_returns")
    """Discount of that sum; none given: gamma."""

    # Exploration
    rnd: NonNegative = 0.0
    """Weight of the bonus of random network distillation (RND); 0: none."""
    rnd_kind: Literal["burda", "impala"] = only_with("burda", "rnd")
    """burda: two convolutions, bonus scaled by its running deviation; impala: pooled IMPALA nets on
    the whole stack, bonus as it is, at most 2."""
    novelty: NonNegative = 0.0
    """Scaled reward for each new pair of progress and colour sum on a level; 0: none."""

    def __post_init__(self) -> None:
        check(self)
        self.evaluation.check_levels(self.run.levels, self.env)
        pieces, rest = divmod(self.rollout_steps, self.sequence_steps)
        whole, num_envs = pieces == 1 < self.sequence_steps, self.run.num_envs
        if whole and not num_envs and self.minibatches > 1:
            raise UserError("minibatches of whole rollouts need a number of --num-envs, not 0")
        if whole and num_envs % self.minibatches == 0 < num_envs:
            pieces = self.minibatches  # of the environments, instead of the steps
        if rest or pieces % self.minibatches:
            raise UserError(
                f"rollout_steps ({self.rollout_steps}) must be a multiple of minibatches x "
                f"sequence_steps ({self.minibatches} x {self.sequence_steps}), or sequence_steps a "
                f"whole rollout and num_envs ({num_envs}) a multiple of minibatches"
            )
        if self.rnd and self.rollout_steps % self.minibatches:
            raise UserError(
                f"--rnd learns from a rollout's steps in minibatches: rollout_steps "
                f"({self.rollout_steps}) must be a multiple of minibatches ({self.minibatches})"
            )
        if self.novelty and self.env.spec().family == "procgen":
            raise UserError("--novelty is for the contest's reward, which Procgen lacks: try --rnd")
        if self.recurrent == "none" and self.sequence_steps != 1:
            raise UserError("sequence_steps is for --recurrent gru or lstm; leave it at 1 without")
        if self.recurrent != "none" and self.sequence_steps == 1:
            raise UserError(
                "--recurrent learns nothing over time with --sequence-steps 1: give more"
            )
        if self.augment:
            from retro_agents.experience.augmentation import (
                Augmentation,  # PyTorch, a second to import
            )

            Augmentation(self.augment, share=self.augment_share, colours=self.env.spec().channels)
        parse_schedule(self.learning_rate_schedule)


Config = PPO2Config
NOT_INHERITED = {"sight_every": 0, "num_checkpoints": 0}
