"""Evolution Strategies over MPI, on the last layers of a pretrained policy."""

from pathlib import Path
from typing import Any

from es.agent import ESAgent, build, load
from es.config import ESConfig as Config

__all__ = ["NOT_INHERITED", "PRESETS", "Config", "ESAgent", "build", "load", "run"]

PRESETS = Path(__file__).parent / "presets"
NOT_INHERITED: dict[str, Any] = {}


def run(*args: Any, **kwargs: Any) -> ESAgent:
    """`es.train.run`, imported only now: that module is also a command."""
    from es import train

    return train.run(*args, **kwargs)
