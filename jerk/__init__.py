"""JERK: search that explores, remembers what worked, replays it and mutates it."""

from pathlib import Path
from typing import TYPE_CHECKING

from experiment.package import lazily, parser
from jerk.config import JerkConfig as Config

if TYPE_CHECKING:
    from jerk.agent import JerkAgent, build, load
    from jerk.train import run

__all__ = ["NOT_INHERITED", "PRESETS", "Config", "JerkAgent", "build", "load", "parse", "run"]

PRESETS = Path(__file__).parent / "presets"
parse = parser(__name__, Config, PRESETS)
NOT_INHERITED = {"policy": "", "record": False}
__getattr__ = lazily({"jerk.agent": "JerkAgent build load", "jerk.train": "run"})
