"""Soft actor-critic for discrete actions: a policy that is paid for staying random."""

from pathlib import Path
from typing import TYPE_CHECKING

from experiment.package import lazily, parser
from sac.config import SACConfig as Config

if TYPE_CHECKING:
    from sac.agent import SACAgent, build, load
    from sac.train import run

__all__ = ["NOT_INHERITED", "PRESETS", "Config", "SACAgent", "build", "load", "parse", "run"]

PRESETS = Path(__file__).parent / "presets"
parse = parser(__name__, Config, PRESETS)
NOT_INHERITED = {"sight_every": 0}
__getattr__ = lazily({"sac.agent": "SACAgent build load", "sac.train": "run"})
