"""The agent's side alone: plays the level that a server has in a folder, then leaves.

python -m contest.player --dir tmp --agent random
python -m contest.player --dir tmp --agent rainbow --checkpoint rainbow/pretrained \
    --timesteps 100000 -- --init-shrink 0.5
"""

import dataclasses
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from contest.match.agents import play, resolve
from contest.wire.protocol import GymRemoteError, ResetError
from experiment.config import parse_command
from experiment.errors import command
from experiment.ranges import Count, Seed

SERVER_GONE = 3
"""Exit code where the environment's side ended otherwise than by a limit."""


@dataclasses.dataclass(frozen=True)
class PlayerConfig:
    """Let an agent play a remote level. Flags after -- are the agent's own."""

    agent: str
    """random, hold-right, run-and-jump, a package (rainbow, …), or package.module:function."""
    checkpoint: str = ""
    """Checkpoint or run folder that the agent starts from."""
    mode: Literal["adapt", "frozen", "explore"] = "adapt"
    """What a package's agent does: learn on, act as well as it can, or act with its chance."""
    dir: Path = Path("tmp")
    """Folder that the server shares."""
    timesteps: Count = 1_000_000
    """Steps that the server gives: agents plan with them."""
    seed: Seed = 0
    """Seed of the agent's own chance."""
    run_dir: Path = Path("runs/player")
    """Folder for what an adapting agent writes."""
    level: str = "remote"
    """The level's name in what it writes."""
    device: str = "auto"
    """Where nets compute."""
    leash: bool = False
    """End at once when standard input does: whoever started this has gone."""


def split_flags(argv: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """argv -> (before --, after it)."""
    words = list(argv)
    if "--" not in words:
        return words, ()
    at = words.index("--")
    return words[:at], tuple(words[at + 1 :])


def hold_leash() -> None:
    """Leave with whoever holds the other end of standard input."""

    def wait() -> None:
        os.read(0, 1)
        if os.getpgrp() == os.getpid():  # with all that the agent has started
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Play as the command line says."""
    own, flags = split_flags(sys.argv[1:] if argv is None else argv)
    config = parse_command(PlayerConfig, own, command="python -m contest.player")
    if config.leash:
        hold_leash()
    agent = resolve(
        config.agent,
        checkpoint=config.checkpoint,
        mode=config.mode,
        device=config.device,
        flags=flags,
    )
    try:
        play(
            agent,
            config.dir,
            level=config.level,
            timesteps=config.timesteps,
            seed=config.seed,
            run_dir=config.run_dir,
        )
    except ResetError:
        raise  # the agent's own mistake: it has crashed
    except GymRemoteError as error:
        print(f"error: {type(error).__name__}: {error}", file=sys.stderr)
        raise SystemExit(SERVER_GONE) from None


if __name__ == "__main__":
    main()
