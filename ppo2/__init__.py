"""PPO2: proximal policy optimisation on many levels at once."""

from pathlib import Path

from experiment.package import trainer
from ppo2.agent import PPO2Agent, build, load
from ppo2.config import PPO2Config as Config

__all__ = ["NOT_INHERITED", "PRESETS", "Config", "PPO2Agent", "build", "load", "run"]

PRESETS = Path(__file__).parent / "presets"
NOT_INHERITED = {"serial": False}
run = trainer("ppo2")
