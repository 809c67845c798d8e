"""Evolution Strategies over MPI, on the last layers of a pretrained policy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from es.agent import ESAgent


def load(folder: Path | str, *, device: str = "cpu") -> ESAgent:
    """The agent in a checkpoint folder, ready to act."""
    # Here, not above: the emulators' processes import this package and need no torch.
    from es.agent import ESAgent

    return ESAgent.load(folder, device=device)
