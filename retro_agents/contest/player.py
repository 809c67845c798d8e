"""The agent's side alone: plays the level of the server in a folder, then leaves.

retro-agents contest play --dir tmp --agent random
retro-agents contest play --dir tmp --agent rainbow --checkpoint rainbow/pretrained \
    --timesteps 100000 -- --init-shrink 0.5
"""

import dataclasses
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from retro_agents.contest.match.agent import Agent, resolve, split_flags
from retro_agents.contest.match.player import play
from retro_agents.contest.signals import SERVER_GONE
from retro_agents.contest.wire.protocol import GymRemoteError, ResetError
from retro_agents.contract.policy import Play
from retro_agents.ground.errors import command
from retro_agents.ground.processes import hold_leash
from retro_agents.ground.ranges import Count, Seed
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import field


@dataclasses.dataclass(frozen=True)
class PlayerConfig:
    """Let an agent play a remote level. Flags after -- are the agent's own."""

    agent: str
    """random, hold-right, run-and-jump, a package (rainbow, …), or package.module:function."""
    checkpoint: str = ""
    """Checkpoint or run folder that the agent starts from."""
    mode: Literal["adapt", "frozen"] = "adapt"
    """What a package's agent does. adapt: it keeps learning, with its train.run; frozen: it does
    not learn, and plays as its checkpoint says."""
    play: Play | None = field(None, only_with="mode=frozen")
    """How a frozen agent chooses its actions instead: best, draw, draw:T with a temperature T, or
    epsilon:E with a share E of random ones."""
    dir: Path = Path("tmp")
    """Folder that the server shares."""
    timesteps: Count = 1_000_000
    """Number of steps that the server allows; agents plan with it."""
    seed: Seed = 0
    """Seed of the agent's random numbers."""
    run_dir: Path = Path("runs/player")
    """Folder in which an adapting agent writes."""
    level: str = "remote"
    """The level's name in the agent's files."""
    device: str = "auto"
    """Where nets compute."""
    leash: bool = False
    """Exit when standard input closes, that is, when the parent process has ended."""


def leave() -> None:
    """Exit at once, together with all processes that the agent has started."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line."""
    own, flags = split_flags(sys.argv[1:] if argv is None else argv)
    config = parse_command(PlayerConfig, own, command="retro-agents contest play")
    if config.leash:
        hold_leash(leave)
    agent = resolve(
        Agent(config.agent, config.checkpoint, config.mode, config.device, flags, config.play)
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
        raise  # the agent's own error: it has crashed
    except GymRemoteError as error:
        print(f"error: {type(error).__name__}: {error}", file=sys.stderr)
        raise SystemExit(SERVER_GONE) from None


if __name__ == "__main__":
    main()
