"""JERK: search that explores, remembers what worked, replays it and mutates it."""

from pathlib import Path

from experiment.package import trainer
from jerk.agent import JerkAgent, build, load
from jerk.config import JerkConfig as Config

__all__ = ["NOT_INHERITED", "PRESETS", "Config", "JerkAgent", "build", "load", "run"]

PRESETS = Path(__file__).parent / "presets"
NOT_INHERITED = {"policy": "", "record": False}
run = trainer("jerk")
