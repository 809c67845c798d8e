"""Rainbow: deep Q-learning with six improvements, pretrained by rotating levels."""

from pathlib import Path

from rainbow.agent import RainbowAgent


def load(folder: Path | str, *, device: str = "cpu") -> RainbowAgent:
    """The agent in a checkpoint folder, ready to act."""
    return RainbowAgent.load(folder, device=device)
