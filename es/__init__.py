"""Evolution Strategies over MPI, on the last layers of a pretrained policy."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from es.config import ESConfig as Config
from experiment.package import lazily, parser

if TYPE_CHECKING:
    from es.agent import ESAgent, build, load
    from es.train import run

__all__ = ["NOT_INHERITED", "PRESETS", "Config", "ESAgent", "build", "load", "parse", "run"]

PRESETS = Path(__file__).parent / "presets"
parse = parser(__name__, Config, PRESETS, script="es/master.py")
NOT_INHERITED: dict[str, Any] = {}
__getattr__ = lazily({"es.agent": "ESAgent build load", "es.train": "run"})
