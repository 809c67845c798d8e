"""The settings of a run that every trainer has: a section of each agent's config."""

from dataclasses import dataclass

from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Natural, Seed, check
from retro_agents.run.fields import field, machine, report, start
from retro_agents.run.tracking import SERVICES, read_options


@dataclass(frozen=True)
class RunSettings:
    """What is played, where results go, and on which hardware."""

    levels: str = field(
        "",
        "contest",
        common=True,
        other_names=("env", "env_id", "env_name"),
    )
    """Levels (RustCavern.Act2; GAME:STATE for one of no split), splits, which are lists of levels
    (bramble-test), and CSVs with the columns game,state, separated by commas; or
    procgen:GAME[,GAME...]."""
    timesteps: Natural = field(
        1_000_000,
        "contest",
        common=True,
        other_names=("steps", "total_steps"),
    )
    """Total agent steps, summed over the environments."""
    num_envs: Natural = field(8, "contest", common=True, other_names=("num_processes",))
    """Number of parallel environments; 0 (only PPO2): one for every level. Each then keeps to its
    level, and rotate_every has no effect."""
    rotate_every: Natural = field(5_000, "contest", common=True)
    """Agent steps after which an environment changes to the next level; 0: it changes after each
    episode if there are more levels than environments, otherwise never."""
    run_dir: str = field(
        "runs/run", "launch", "contest", common=True, other_names=("exp_name", "name")
    )
    """Folder of this run: config, metrics, checkpoints."""
    resume: bool = field(False, "launch", "contest", common=True)
    """Resume from the last checkpoint in run_dir with the run's own settings; further flags change
    them (a larger timesteps prolongs the run)."""
    auto_resume: bool = field(
        False,
        "launch",
        "contest",
        other_names=("resume_if_exists", "autoresume"),
        without="resume",
    )
    """Resume the run in run_dir if it has a checkpoint, otherwise begin it: one command for a job
    that may be stopped and started again. Give the same preset and flags each time."""
    init: str = start("", "checkpoint", "contest", common=True, other_names=("checkpoint",))
    """Checkpoint, run folder or shipped agent's name (rainbow, ppo2) whose weights the run starts
    from. Its settings are not copied: give the same preset and flags."""
    seed: Seed = start(0, "launch", "contest", common=True)
    """Seed of all random numbers: weights, actions, environments."""
    checkpoint_every: Natural = report(50_000, other_names=("num_checkpoints",))
    """Agent steps (ES: generations) between checkpoints; 0: only the last one is saved."""
    video_every: Natural = report(
        0, "contest", other_names=("render_mode",), needs=("imageio", "imageio_ffmpeg")
    )
    """Agent steps between films of an episode in run_dir/videos, which show what the agent sees in
    the first environment; 0: none."""
    track: str = report("", "contest", needs=("{}",))
    """Service to which metrics are sent too: wandb, trackio or mlflow, each an extra of that name,
    or PACKAGE.MODULE:FUNCTION, which returns a tracker (retro_agents/run/tracking.py)."""
    track_with: str = report("", "contest", only_with="track")
    """What the service is told: "project=mine group=seeds tags=a,b mode=offline entity=us"."""
    device: str = machine("auto", "contest", common=True, other_names=("cuda", "gpu"))
    """cpu, cuda, cuda:1, or auto: cuda if available."""

    def __post_init__(self) -> None:
        check(self)
        if self.track not in ("", *SERVICES) and not all(self.track.rpartition(":")):
            raise UserError(
                f"bad --track {self.track!r}; expected {', '.join(SERVICES)}, or "
                "PACKAGE.MODULE:FUNCTION"
            )
        read_options(self.track_with)
