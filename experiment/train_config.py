"""What every trainer can be told: one dataclass, from which the agents' configs inherit."""

from dataclasses import dataclass

from experiment.ranges import Count, Natural, Seed


@dataclass(frozen=True)
class TrainConfig:
    """What is played, where it goes, on what it is computed."""

    # What is played
    levels: str = "bramble-train"
    """A split, a CSV with columns game,state, or GAME:STATE[,GAME:STATE...]."""
    timesteps: Natural = 1_000_000
    """Agent steps in all, summed over the environments."""
    num_envs: Count = 8
    """Emulators that run side by side, each in a process of its own."""
    rotate_every: Natural = 5_000
    """Agent steps an emulator plays a level before it goes on with another; 0: an episode, where
    there are more levels than emulators, else for ever."""

    # Where it goes
    run_dir: str = "runs/run"
    """Folder of this run: config, metrics, checkpoints."""
    resume: bool = False
    """Go on from the last checkpoint in run_dir, with the run's own settings; flags given beside
    it change them (timesteps prolongs it)."""
    init: str = ""
    """A checkpoint (or run folder) to start from. Its settings are not taken over: give the same
    preset and flags."""
    seed: Seed = 0
    """Seeds all that is drawn: weights, actions, the sticky frames of the environment."""
    checkpoint_every: Natural = 50_000
    """Agent steps between checkpoints; 0: only the last."""

    # How it computes
    device: str = "auto"
    """cpu, cuda, cuda:1, or auto: cuda where there is one."""
