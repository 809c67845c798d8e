"""IMPALA: many actors play, one learner corrects for their older policies by V-trace."""

from pathlib import Path
from typing import TYPE_CHECKING

from experiment.package import lazily, parser
from impala.config import ImpalaConfig as Config

if TYPE_CHECKING:
    from impala.agent import ImpalaAgent, build, load
    from impala.train import run

__all__ = ["NOT_INHERITED", "PRESETS", "Config", "ImpalaAgent", "build", "load", "parse", "run"]

PRESETS = Path(__file__).parent / "presets"
parse = parser(__name__, Config, PRESETS)
NOT_INHERITED = {"actors": 0, "ray_address": "", "sight_every": 0}
__getattr__ = lazily({"impala.agent": "ImpalaAgent build load", "impala.train": "run"})
