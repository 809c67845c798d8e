"""All settings of PPO2, in one place."""

from dataclasses import dataclass
from typing import Literal

from retro_agents.contract.envs import EnvSettings
from retro_agents.experience.detours import check_moves
from retro_agents.experience.settings import AugmentationSettings
from retro_agents.games.families import TRAINING, env_settings
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, Momentum, Natural, NonNegative, Positive, Share, check
from retro_agents.ground.schedules import parse_schedule
from retro_agents.judging.settings import EvaluationSettings
from retro_agents.nets.settings import ComputeSettings, Initialisation, NetSettings
from retro_agents.run.fields import fixed, learning, machine, memory, report, shape, start
from retro_agents.run.settings import RunSettings


@dataclass(frozen=True)
class PPO2Config:
    """Train PPO2: on many levels at once to pretrain it, on one level to play the contest."""

    run: RunSettings = RunSettings(levels=TRAINING, run_dir="runs/ppo2")
    env: EnvSettings = env_settings()
    evaluation: EvaluationSettings = EvaluationSettings()
    net: NetSettings = NetSettings()
    computing: ComputeSettings = ComputeSettings()
    augmentation: AugmentationSettings = AugmentationSettings()

    num_checkpoints: Natural = report(0, "once")
    """Checkpoints evenly spaced over the run, at most one per rollout, all of which are kept; they
    replace checkpoint_every, of which the newest two are kept; 0: none."""
    compile: bool = machine(False)
    """Compile the learning step with torch.compile (CUDA graphs on a GPU; one thread on a CPU)."""
    cuda_graphs: bool = machine(True)
    """On a GPU, launch the kernels of choosing actions, and of a learning step, as a CUDA graph."""
    act_parts: Count = machine(2)
    """Groups of environments: one group is stepped while the actions of the next are chosen."""

    self_imitation: NonNegative = learning(0.0, "switch", group="What is learned from")
    """Weight of self-imitation: after each rollout also learn actions of earlier episodes that
    returned more than is expected now, without augmentation or dropout; 0: none."""
    self_imitation_batches: Count = learning(4, only_with="self_imitation")
    """Minibatches of earlier steps after each rollout, each as large as one of the rollout."""
    self_imitation_size: Count = memory(200_000, "fixed", only_with="self_imitation")
    """Steps that are remembered, over all environments."""
    dropout: Momentum = learning(0.0)
    """Dropout: fraction of the fully connected layer's units that are zeroed while learning, drawn
    anew in each epoch."""
    convolution_l2: NonNegative = learning(0.0)
    """Weight in the loss of the encoder's summed squared weights."""

    initialisation: Initialisation = start("default", group="The net", without="init")
    """Weights before the outputs (xavier-all: including them); default: orthogonal, except for
    impala's and mobilenet's convolutions, which have their own."""
    recurrent: Literal["none", "gru", "lstm"] = shape("none")
    """Recurrent layer between the fully connected layer and the outputs."""
    recurrent_hidden: Count = shape(256, only_with="recurrent")
    """Units of the recurrent layer."""
    sequence_steps: Count = memory(1)
    """Consecutive steps that a recurrent net learns from, 2 to a whole rollout; other nets: 1."""

    rollout_steps: Count = memory(
        128,
        group="The rollout",
        other_names=("n_steps", "nsteps", "num_steps", "unroll_length"),
    )
    """Agent steps of each environment between two rounds of learning (nsteps)."""
    minibatches: Count = learning(
        4,
        other_names=("mini_batch_per_epoch",),
        answers={"batch_size": "a minibatch has num_envs x rollout_steps / --minibatches rows"},
    )
    """Parts of a rollout, each of which gives one step of Adam per epoch."""
    epochs: Count = learning(4, other_names=("update_epochs",))
    """Passes over a rollout, shuffled anew each time."""
    microbatches: Natural = machine(1)
    """Microbatches into which each thread splits its part of a minibatch, to save memory or to fit
    the cache; their gradients are summed. 0: on a CPU about 128 rows each, on a GPU one."""

    gamma: Share = learning(0.99, group="Learning")
    """Discount per agent step: a reward n steps later counts gamma^n times as much."""
    lam: Share = learning(0.95, other_names=("gae_lambda", "lmbda"))
    """Lambda of generalised advantage estimation."""
    learning_rate: Positive = learning(2.5e-4, common=True, other_names=("lr",))
    """Adam's learning rate."""
    learning_rate_schedule: str = learning("constant", other_names=("anneal_lr",))
    """Factor on the learning rate over the run: constant, linear (to 0), or points PART:FACTOR,
    joined by straight lines, such as 0:1,0.5:0.3,1:0."""
    adam_epsilon: Positive = learning(1e-5)
    """Adam's epsilon."""
    clip: Positive = learning(0.1, other_names=("clip_param", "eps"))
    """Distance from 1 at which the ratio of new to old action probabilities is clipped."""
    value_clip: bool = learning(True)
    """Also clip how far an update moves the predicted value, as with the policy's ratio."""
    value_clip_range: Positive | None = learning(None, only_with="value_clip")
    """Largest change of a value before it is clipped, in units of returns; default: clip."""
    value_weight: NonNegative = learning(0.5, other_names=("value_coef", "vf_coef"))
    """Weight of the value loss (half the squared error)."""
    entropy_weight: NonNegative = learning(0.01, other_names=("ent_coef", "entropy_coef"))
    """Weight of the entropy bonus."""
    entropy_schedule: str = learning("constant", only_with="entropy_weight")
    """Factor on entropy_weight over the run, as for the learning rate."""
    gradient_norm: NonNegative = learning(0.5, other_names=("grad_clip", "grad_eps"))
    """Gradients are clipped to this norm; 0: never."""
    kl_penalty: NonNegative = learning(0.0)
    """Initial weight of the KL divergence in the loss; 0: none. After each rollout it grows by
    half if the divergence is above twice kl_aim, and is halved if it is below half of kl_aim."""
    kl_aim: Positive = learning(0.01, only_with="kl_penalty")
    """KL divergence, in nats, at which kl_penalty aims."""
    normalise: Literal["minibatch", "rollout", "never"] = learning(
        "minibatch", other_names=("norm_adv",)
    )
    """Steps over which advantages are normalised to mean 0 and standard deviation 1: those of each
    minibatch, of the rollout, or none."""
    normalise_returns: bool = learning(True, other_names=("normalize_rew",))
    """Divide rewards by the running standard deviation of their discounted sum."""
    return_gamma: Share | None = learning(None, only_with="normalise_returns")
    """Discount of the sum in normalise_returns; default: gamma."""

    noisy: bool = shape(False, "fixed", group="Exploration")
    """Noisy layers behind the convolutions; each environment has noise of its own per rollout. Give
    --entropy-weight 0 to explore by noise instead of the entropy bonus."""
    sigma0: NonNegative = start(0.5, only_with="noisy")
    """Initial noise of a noisy layer, times 1/sqrt(inputs); of a noisy net that init gives,
    the saved one."""
    rnd: NonNegative = learning(0.0)
    """Weight of the bonus of random network distillation (RND); 0: none."""
    rnd_kind: Literal["burda", "impala"] = fixed("burda", only_with="rnd")
    """burda: two convolutions, bonus divided by its running deviation; impala: pooled IMPALA nets
    on the whole stack, unscaled bonus, at most 2."""
    rnd_values: Literal["one", "two"] = shape("one", only_with="rnd")
    """one: rnd's bonus is a part of the reward, and ends with an episode; two: it has a value
    function of its own, discounts by rnd_gamma, and continues across the ends of episodes."""
    rnd_gamma: Share = learning(0.99, only_with="rnd_values=two")
    """Discount of the bonus per agent step."""
    novelty: NonNegative = learning(0.0)
    """Bonus, in scaled reward, for each new pair of progress and colour sum on a level; 0: none."""
    detour_after: Natural = learning(0)
    """Steps without progress after which some steps back and forward again are played instead of
    the policy's, jumping in a random rhythm (a detour); 0: never. For platform games."""

    @property
    def bonus_apart(self) -> bool:
        """Whether RND's bonus has a value function of its own."""
        return self.rnd > 0.0 and self.rnd_values == "two"

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
        if self.normalise != "never" and num_envs * self.rollout_steps == 1:
            raise UserError(
                "a rollout of one step: its normalised advantage is 0; give more --rollout-steps"
            )
        if self.normalise == "minibatch" and num_envs * self.rollout_steps == self.minibatches:
            raise UserError(
                f"the {self.minibatches} steps of a rollout in as many minibatches: the normalised "
                "advantage of a single step is 0; give fewer --minibatches, or --normalise never"
            )
        if self.rnd and self.rollout_steps % self.minibatches:
            raise UserError(
                f"--rnd learns from a rollout's steps in minibatches: rollout_steps "
                f"({self.rollout_steps}) must be a multiple of minibatches ({self.minibatches})"
            )
        if self.rnd and (self.rnd_gamma if self.bonus_apart else self.gamma) == 1.0:
            field = "rnd_gamma" if self.bonus_apart else "gamma"
            raise UserError(f"{field} 1: --rnd's bonus has no end; give less, such as 0.99")
        if self.novelty and self.env.spec().family == "procgen":
            raise UserError("--novelty is for the contest's reward, which Procgen lacks: try --rnd")
        if self.detour_after:
            check_moves(self.env.spec().action_names)
        if self.self_imitation and self.recurrent != "none":
            raise UserError(
                "--self-imitation remembers no states of a recurrent net: give --self-imitation 0, "
                "or leave out --recurrent"
            )
        least = num_envs * (self.rollout_steps + max(self.env.spec().steps_back) + 4)
        if self.self_imitation and self.self_imitation_size < least:
            raise UserError(
                f"--self-imitation-size {self.self_imitation_size}: too short for the rollouts and "
                f"frames of {num_envs} environments, expected {least:,} or more"
            )
        if self.recurrent == "none" and self.sequence_steps != 1:
            raise UserError("sequence_steps is for --recurrent gru or lstm; leave it at 1 without")
        if self.recurrent != "none" and self.sequence_steps == 1:
            raise UserError(
                "--recurrent learns nothing over time with --sequence-steps 1: give more"
            )
        self.augmentation.make(self.env.spec())  # raises UserError
        parse_schedule(self.learning_rate_schedule)
        parse_schedule(self.entropy_schedule)


Config = PPO2Config
