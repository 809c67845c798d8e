"""Rainbow: deep Q-learning with six improvements, pretrained by rotating levels."""

from pathlib import Path

from experiment.package import trainer
from rainbow.agent import RainbowAgent, build, load
from rainbow.config import RainbowConfig as Config

__all__ = ["NOT_INHERITED", "PRESETS", "Config", "RainbowAgent", "build", "load", "run"]

PRESETS = Path(__file__).parent / "presets"
NOT_INHERITED = {"init_encoder": "", "freeze_encoder_updates": 0}
run = trainer("rainbow")
