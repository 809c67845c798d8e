"""Soft actor-critic for discrete actions: a policy that is paid for staying random."""

from pathlib import Path
from typing import TYPE_CHECKING

from experiment.package import answer_early, lazily
from sac.config import SACConfig as Config

if TYPE_CHECKING:
    from sac.agent import SACAgent, build, load
    from sac.train import run

__all__ = ["NOT_INHERITED", "PRESETS", "Config", "SACAgent", "build", "load", "run"]

PRESETS = Path(__file__).parent / "presets"
NOT_INHERITED = {"sight_every": 0}
__getattr__ = lazily({"sac.agent": "SACAgent build load", "sac.train": "run"})
answer_early(__name__, Config, PRESETS)
