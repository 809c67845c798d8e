"""JERK: search that explores, remembers what worked, replays it and mutates it."""

from pathlib import Path

from jerk.agent import JerkAgent


def load(folder: Path | str, *, device: str = "cpu") -> JerkAgent:
    """The agent in a checkpoint folder, ready to act."""
    return JerkAgent.load(folder, device=device)
