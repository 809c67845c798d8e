"""What every trainer can be told of a run: a section of each agent's config."""

from dataclasses import dataclass
from typing import Literal

from retro_agents.ground.ranges import Natural, Seed, check


@dataclass(frozen=True)
class RunSettings:
    """What is played, where it goes, on what it is computed."""

    # What is played
    levels: str = ""
    """Splits and levels with commas between (GAME:STATE, or the STATE alone of a split's level), a
    CSV with columns game,state, or procgen:GAME[,GAME...]."""
    timesteps: Natural = 1_000_000
    """Agent steps in all, summed over the environments."""
    num_envs: Natural = 8
    """Environments that run side by side; 0 (PPO2): one for every level, which it always plays,
    whatever rotate_every says."""
    rotate_every: Natural = 5_000
    """Agent steps an environment plays a level before it goes on with another; 0: an episode, where
    there are more levels than environments, else for ever."""

    # Where it goes
    run_dir: str = "runs/run"
    """Folder of this run: config, metrics, checkpoints."""
    resume: bool = False
    """Go on from the last checkpoint in run_dir, with the run's own settings; flags given beside
    it change them (timesteps prolongs it)."""
    init: str = ""
    """A checkpoint, run folder or shipped agent's name (rainbow, ppo2) to start from. Its
    settings are not taken over: give the same preset and flags."""
    seed: Seed = 0
    """Seeds all that is drawn: weights, actions, the environment's chance."""
    checkpoint_every: Natural = 50_000
    """Agent steps (of ES: generations) between checkpoints; 0: only the last."""

    video_every: Natural = 0
    """Agent steps from one film of an episode to the next, in run_dir/videos: what the agent of the
    first environment sees; 0: none."""
    track: Literal["", "wandb", "trackio"] = ""
    """Where metrics go beside run_dir: wandb or trackio, each an extra of its name."""

    # The machine
    device: str = "auto"
    """cpu, cuda, cuda:1, or auto: cuda where there is one."""

    def __post_init__(self) -> None:
        check(self)
