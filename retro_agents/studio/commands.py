"""The commands that do something with a run, to copy."""

import shlex
from contextlib import suppress
from pathlib import Path

from retro_agents.games.families import of_procgen
from retro_agents.ground.errors import UserError
from retro_agents.studio.curves import config_of

NEED_NETS = {"Evaluate it", "Film it", "Watch it in a window", "Export its net"}
"""What needs a checkpoint."""


def first(root: Path) -> str:
    """The command that trains a first run in a folder, in about a minute."""
    words = ["retro-agents", "train", "ppo2", "--preset", "fast", "--levels", "bramble-train"]
    return shlex.join([*words, "--timesteps", "40000", "--run-dir", str(root / "first")])


def commands(run: Path, agent: str, begun: str, *, saved: bool) -> dict[str, str]:
    """What it does -> the command. agent: the run's package; "" if it is not known. begun: the
    command that started it, as its files have it. saved: whether it has a whole checkpoint."""
    here, kind = str(run), list[str]()
    with suppress(UserError):
        kind = ["procgen"] if of_procgen(config_of(run).get("levels")) else []
    words = {
        "Started with": started(begun, agent),
        "Resume it": ["python", "-m", f"{agent}.train", "--run-dir", here, "--resume"],
        "Evaluate it": ["retro-agents", *kind, "evaluate", here],
        "Film it": ["retro-agents", *kind, "evaluate", here, "--video"],
        "Watch it in a window": ["retro-agents", "watch", here],
        "Draw its curve": ["retro-agents", "plot", here],
        "Export its net": ["retro-agents", "export", here, "--onnx", f"{run.name}.onnx"],
    }
    cloned = f"{agent}.clone" in words["Started with"][:3]
    without = {"Resume it"} if not agent or cloned else set()
    without |= {"Watch it in a window"} if kind else set()
    without |= {"Export its net"} if agent == "jerk" else set()
    without |= set() if saved else NEED_NETS
    return {what: shlex.join(line) for what, line in words.items() if line and what not in without}


def started(begun: str, agent: str) -> list[str]:
    """The words of the command that started a run; [] if it is not known. Whatever a foreign run
    says, they make one command."""
    try:
        words = shlex.split(begun)
    except ValueError:
        return []
    if words[:1] not in (["train.py"], ["clone.py"], ["master.py"]):
        return words
    return ["python", "-m", f"{agent}.{words[0].removesuffix('.py')}", *words[1:]]
