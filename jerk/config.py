"""Everything JERK can be told, in one place."""

from dataclasses import dataclass
from typing import Literal

from experiment.errors import UserError


@dataclass(frozen=True)
class JerkConfig:
    """Search a level with JERK: explore, remember what worked, replay it, mutate it."""

    # What is played
    levels: str = "bramble-test"
    """A split, a CSV with columns game,state, or GAME:STATE[,GAME:STATE...]."""
    timesteps: int = 1_000_000
    """Agent steps in all, summed over the environments."""
    num_envs: int = 1
    """Emulators that run side by side, each in a process of its own; the contest allows one."""
    rotate_every: int = 0
    """Agent steps an emulator plays a level before it goes on with another; 0: never."""

    # Where it goes
    run_dir: str = "runs/jerk"
    """Folder of this run: config, metrics, checkpoints, sequences.json."""
    resume: bool = False
    """Go on from the last checkpoint in run_dir."""
    init: str = ""
    """A checkpoint (or run folder) to start from: the sequences of an earlier JERK."""
    seed: int = 0
    """Seeds exploration, mutations and sticky actions."""
    checkpoint_every: int = 50_000
    """Agent steps between checkpoints; 0: only the last."""
    log_every: int = 1_000
    """Agent steps between rows of metrics.csv."""
    record: bool = False
    """Keep a recording (.bk2) of the best episode of each level in run_dir/recordings."""

    # How it computes
    device: str = "auto"
    """cpu, cuda, cuda:1, or auto: cuda where there is one."""
    torch_threads: int = 0
    """CPU threads of the nets; 0: PyTorch decides."""

    # The environment
    actions: Literal[7, 10] = 7
    """The contest's 7 actions, or 10 with no-op, LEFT+B and RIGHT+B."""
    frame_skip: int = 4
    """Emulator frames per agent step."""
    stick_probability: float = 0.25
    """Chance that a changed action comes one frame late."""
    episode_steps: int = 4_500
    """Agent steps after which an episode is cut; 0: never."""
    backtracking: bool = True
    """Reward new furthest progress only; without it going back costs reward, as in the contest."""
    reward_scale: float = 1.0
    """Factor on the environment's rewards, taken out again: all rules work on raw returns."""
    image_height: int = 84
    """Pixels."""
    image_width: int = 84
    """Pixels."""
    colour: Literal["grey", "rgb"] = "grey"
    """Channels of a frame: one or three."""
    frame_stack: int = 4
    """Frames in an observation."""
    scenario: str = "contest"
    """The integration's scenario file, which defines reward and end."""

    # Exploring
    right_steps: int = 100
    """Agent steps of a bout to the right."""
    left_steps: int = 70
    """Agent steps of the bout to the left that follows one without reward."""
    jump_probability: float = 0.1
    """Chance that a jump begins at a step."""
    jump_steps: int = 4
    """Agent steps that a jump is held."""

    # Replaying
    exploit: Literal["linear", "cubic"] = "linear"
    """How the chance of a plain replay grows: with time, or with the best return and time cubed."""
    exploit_bias: float = 0.25
    """That chance at the first step (linear)."""
    max_return: float = 10_000.0
    """The most that a level can give, in raw return."""
    go_on: bool = False
    """Explore from where a replay ends; without it, wait there for the end of the episode."""
    patience: int = 0
    """Steps without progress after which a replay is left to explore, beyond the longest such
    pause in the sequence itself; 0: never."""

    # Mutating
    mutate: bool = False
    """Episodes that are no plain replay play a mutant, once there is a sequence."""
    excise: bool = True
    """Mutation: cut a stretch out."""
    truncate: bool = True
    """Mutation: cut the tail off."""
    resample: bool = True
    """Mutation: draw single actions anew, mostly near the end."""
    keep_ratio: float = 0.0
    """A run is kept as a sequence where its return is more than this part of the best."""
    sequences: int = 100
    """Sequences remembered per level; the worst goes first."""

    def __post_init__(self) -> None:
        for name in ("right_steps", "left_steps", "jump_steps", "sequences", "log_every"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.reward_scale <= 0.0:
            raise UserError(f"reward_scale must be above 0, not {self.reward_scale}")
