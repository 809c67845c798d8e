"""Rainbow: deep Q-learning with six improvements, pretrained by rotating levels."""

from pathlib import Path
from typing import Any

from rainbow.agent import RainbowAgent, build, load
from rainbow.config import RainbowConfig as Config

__all__ = ["NOT_INHERITED", "PRESETS", "Config", "RainbowAgent", "build", "load", "run"]

PRESETS = Path(__file__).parent / "presets"
NOT_INHERITED = {"init_encoder": "", "freeze_encoder_updates": 0}


def run(*args: Any, **kwargs: Any) -> RainbowAgent:
    """`rainbow.train.run`, imported only now: that module is also a command."""
    from rainbow import train

    return train.run(*args, **kwargs)
