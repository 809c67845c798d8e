"""What every agent's run needs around the algorithm: config, run folder, checkpoint, metrics."""

from typing import TYPE_CHECKING, Any

from experiment.outside import check

if TYPE_CHECKING:
    from pathlib import Path

check()


def load_agent(folder: "Path | str", *, device: str = "cpu") -> Any:
    """The agent saved in a checkpoint or run folder, or a shipped one by its name ("rainbow"),
    ready to `act`. See experiment.checkpoint."""
    # Here, not above: torch takes a second to import, and env workers only need the errors.
    from experiment.checkpoint import load_agent as load

    return load(folder, device=device)
