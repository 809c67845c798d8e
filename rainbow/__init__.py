"""Rainbow: deep Q-learning with six improvements, pretrained by rotating levels."""

from pathlib import Path
from typing import TYPE_CHECKING

from experiment.package import lazily, parser
from rainbow.config import RainbowConfig as Config

if TYPE_CHECKING:
    from rainbow.agent import RainbowAgent, build, load
    from rainbow.train import run

__all__ = ["NOT_INHERITED", "PRESETS", "Config", "RainbowAgent", "build", "load", "parse", "run"]

PRESETS = Path(__file__).parent / "presets"
parse = parser(__name__, Config, PRESETS)
NOT_INHERITED = {
    "init_encoder": "",
    "sight_every": 0,
    "actors": 0,
    "ray_address": "",
}
__getattr__ = lazily({"rainbow.agent": "RainbowAgent build load", "rainbow.train": "run"})
