"""PPO2: proximal policy optimisation on many levels at once."""

from pathlib import Path

from ppo2.agent import PPO2Agent


def load(folder: Path | str, *, device: str = "cpu") -> PPO2Agent:
    """The agent in a checkpoint folder, ready to act."""
    return PPO2Agent.load(folder, device=device)
