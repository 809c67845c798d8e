"""TRPO: trust region policy optimisation, the natural gradient within a bound on the KL."""

from pathlib import Path
from typing import TYPE_CHECKING

from experiment.package import lazily, parser
from trpo.config import TRPOConfig as Config

if TYPE_CHECKING:
    from trpo.agent import TRPOAgent, build, load
    from trpo.train import run

__all__ = ["NOT_INHERITED", "PRESETS", "Config", "TRPOAgent", "build", "load", "parse", "run"]

PRESETS = Path(__file__).parent / "presets"
parse = parser(__name__, Config, PRESETS)
NOT_INHERITED = {"sight_every": 0}
__getattr__ = lazily({"trpo.agent": "TRPOAgent build load", "trpo.train": "run"})
