"""What every trainer can be told of a run: a section of each agent's config."""

from dataclasses import dataclass
from typing import Literal

from retro_agents.ground.ranges import Natural, Seed, check
from retro_agents.run.fields import field, machine, report, start


@dataclass(frozen=True)
class RunSettings:
    """What is played, where it goes, on what it is computed."""

    levels: str = field(
        "",
        "contest",
        common=True,
        completes="retro_agents.games.families:split_names",
        other_names=("env", "env_id", "env_name"),
    )
    """Splits and levels with commas between (GAME:STATE, or the STATE alone of a split's level), a
    CSV with columns game,state, or procgen:GAME[,GAME...]."""
    timesteps: Natural = field(
        1_000_000,
        "contest",
        common=True,
        other_names=("steps", "total_steps"),
    )
    """Agent steps in all, summed over the environments."""
    num_envs: Natural = field(8, "contest", common=True, other_names=("num_processes",))
    """Environments that run side by side; 0 (PPO2): one for every level, which it always plays,
    whatever rotate_every says."""
    rotate_every: Natural = field(5_000, "contest", common=True)
    """Agent steps an environment plays a level before it goes on with another; 0: an episode, where
    there are more levels than environments, else for ever."""
    run_dir: str = field(
        "runs/run", "launch", "contest", common=True, other_names=("exp_name", "name")
    )
    """Folder of this run: config, metrics, checkpoints."""
    resume: bool = field(False, "launch", "contest", common=True)
    """Go on from the last checkpoint in run_dir, with the run's own settings; flags given beside
    it change them (timesteps prolongs it)."""
    init: str = start("", "checkpoint", "contest", common=True, other_names=("checkpoint",))
    """A checkpoint, run folder or shipped agent's name (rainbow, ppo2) to start from. Its
    settings are not taken over: give the same preset and flags."""
    seed: Seed = start(0, "launch", "contest", common=True)
    """Seeds all that is drawn: weights, actions, the environment's chance."""
    checkpoint_every: Natural = report(50_000, other_names=("num_checkpoints",))
    """Agent steps (of ES: generations) between checkpoints; 0: only the last."""
    video_every: Natural = report(0, "contest", other_names=("render_mode",))
    """Agent steps from one film of an episode to the next, in run_dir/videos: what the agent of the
    first environment sees; 0: none."""
    track: Literal["", "wandb", "trackio"] = report("", "contest")
    """Where metrics go beside run_dir: wandb or trackio, each an extra of its name."""
    device: str = machine("auto", "contest", common=True, other_names=("cuda", "gpu"))
    """cpu, cuda, cuda:1, or auto: cuda where there is one."""

    def __post_init__(self) -> None:
        check(self)
