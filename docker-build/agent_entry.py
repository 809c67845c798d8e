"""What the agent's image starts: `retro-agents contest play` with the image's own agent.

Reads the variables AGENT, MODE, PLAY, TIMESTEPS, SEED and LEVEL. The container's arguments come
after them and win; flags after -- are the agent's own. With --keep-checkpoint it copies a
checkpoint into an image that is being built.
"""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from retro_agents.contest.match.agent import is_package, split_flags
from retro_agents.contest.player import main as play
from retro_agents.ground.errors import UserError, command
from retro_agents.run.agents import shipped
from retro_agents.run.checkpoint import latest_checkpoint

CHECKPOINT = Path("/checkpoint")
KEPT_FOR = "kept-for"
"""The file in CHECKPOINT that names the agent for which the image was built."""


def arguments(environ: Mapping[str, str], given: Sequence[str], *, checkpoint: Path) -> list[str]:
    """The player's command line. The image's checkpoint goes with the image's agent only."""
    argv = ["--dir", "/share", "--run-dir", "/runs"]
    for name in ("AGENT", "MODE", "PLAY", "TIMESTEPS", "SEED", "LEVEL"):
        if environ.get(name):
            argv += [f"--{name.lower()}", environ[name]]
    named = any(word.partition("=")[0] == "--agent" for word in split_flags(given)[0])
    kept_for = checkpoint / KEPT_FOR
    if not named and kept_for.is_file() and kept_for.read_text() == environ["AGENT"]:
        argv += ["--checkpoint", str(checkpoint)]
    return [*argv, *given]


def keep_checkpoint(agent: str, given: Path, kept: Path) -> None:
    """Copy the checkpoint in `given`, else the package's own pretrained one, to `kept`.

    `kept` stays empty for an agent without one. Raises UserError if the agent takes no
    checkpoint.
    """
    kept.mkdir()
    package = is_package(agent)
    there = [path for path in given.iterdir() if path.name != "README.md"]
    if there and not package:
        raise UserError(f"{agent} takes no CHECKPOINT: only agent packages do")
    if not package:
        return
    source = given if there else shipped(agent)
    if source:
        shutil.copytree(latest_checkpoint(source), kept, dirs_exist_ok=True)
        (kept / KEPT_FOR).write_text(agent)


@command
def main() -> None:
    """Play, or keep a checkpoint."""
    if sys.argv[1:2] == ["--keep-checkpoint"]:
        agent, given, kept = sys.argv[2:]
        keep_checkpoint(agent, Path(given), Path(kept))
        return
    play(arguments(os.environ, sys.argv[1:], checkpoint=CHECKPOINT))


if __name__ == "__main__":
    main()
