"""The commands that do something with a run, to copy."""

import shlex
from pathlib import Path


def commands(run: Path, agent: str) -> dict[str, str]:
    """What it does -> the command. agent: the run's package; "" if it is not known."""
    here = str(run)
    words = {
        "Resume it": ["python", "-m", f"{agent}.train", "--run-dir", here, "--resume"],
        "Evaluate it": ["retro-agents", "evaluate", here],
        "Film it": ["retro-agents", "evaluate", here, "--video"],
        "Watch it in a window": ["retro-agents", "watch", here],
        "Draw its curve": ["retro-agents", "plot", here],
        "Export its net": ["retro-agents", "export", here, "--onnx", f"{run.name}.onnx"],
    }
    return {what: shlex.join(line) for what, line in words.items() if agent or what != "Resume it"}
