"""All settings of the agent; each field becomes a flag, and its docstring the flag's help."""

from dataclasses import dataclass

from retro_agents.contract.envs import EnvSettings
from retro_agents.games.families import TRAINING, env_settings
from retro_agents.ground.ranges import Share, check
from retro_agents.run.fields import fixed, learning
from retro_agents.run.settings import RunSettings


@dataclass(frozen=True)
class TallyConfig:
    """Take the action of the highest mean reward."""

    run: RunSettings = RunSettings(levels=TRAINING, run_dir="runs/tally")
    env: EnvSettings = env_settings()

    explore: Share = learning(0.3)
    """Chance of an action that is drawn."""
    discount: Share = fixed(1.0)
    """Weight of an action's earlier rewards in its mean, at each new one."""

    def __post_init__(self) -> None:
        check(self)


Config = TallyConfig
