"""Evolution Strategies over MPI, on the last layers of a pretrained policy."""

from pathlib import Path
from typing import Any

from es.agent import ESAgent, build, load
from es.config import ESConfig as Config
from experiment.package import trainer

__all__ = ["NOT_INHERITED", "PRESETS", "Config", "ESAgent", "build", "load", "run"]

PRESETS = Path(__file__).parent / "presets"
NOT_INHERITED: dict[str, Any] = {}
run = trainer("es")
