"""JERK: search that explores, remembers what worked, replays it and mutates it."""

from pathlib import Path
from typing import Any

from jerk.agent import JerkAgent, build, load
from jerk.config import JerkConfig as Config

__all__ = ["NOT_INHERITED", "PRESETS", "Config", "JerkAgent", "build", "load", "run"]

PRESETS = Path(__file__).parent / "presets"
NOT_INHERITED = {"policy": "", "record": False}


def run(*args: Any, **kwargs: Any) -> JerkAgent:
    """`jerk.train.run`, imported only now: that module is also a command."""
    from jerk import train

    return train.run(*args, **kwargs)
