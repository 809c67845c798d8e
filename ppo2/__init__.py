"""PPO2: proximal policy optimisation on many levels at once."""

from pathlib import Path
from typing import TYPE_CHECKING

from experiment.package import lazily, parser
from ppo2.config import PPO2Config as Config

if TYPE_CHECKING:
    from ppo2.agent import PPO2Agent, build, load
    from ppo2.train import run

__all__ = ["NOT_INHERITED", "PRESETS", "Config", "PPO2Agent", "build", "load", "parse", "run"]

PRESETS = Path(__file__).parent / "presets"
parse = parser(__name__, Config, PRESETS)
NOT_INHERITED = {"sight_every": 0, "num_checkpoints": 0}
__getattr__ = lazily({"ppo2.agent": "PPO2Agent build load", "ppo2.train": "run"})
