"""The agent's side alone: plays the level of the server in a folder, then leaves.

retro-agents contest play --dir tmp --agent random
retro-agents contest play --dir tmp --agent rainbow --checkpoint rainbow/pretrained \
    --timesteps 100000 -- --init-shrink 0.5
"""

import contextlib
import dataclasses
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from retro_agents.contest.match.agent import Agent, find_function, make_config, resolve, split_flags
from retro_agents.contest.wire.client import RemoteEnv
from retro_agents.contest.wire.protocol import LIMITS, SERVER_GONE, GymRemoteError, ResetError
from retro_agents.contest.wire.remote_vec import RemoteVectorEnv
from retro_agents.contract.policy import Play
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.make import wrap_agent
from retro_agents.games.retro.references import REFERENCES
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.names import find_here_too
from retro_agents.ground.processes import hold_leash
from retro_agents.ground.ranges import Count, Seed
from retro_agents.judging.policies import load_policy
from retro_agents.judging.score import steps_of
from retro_agents.run.agents import find_given
from retro_agents.run.checkpoint import load_agent
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import field
from retro_agents.run.folder import RunFolder


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


def play(
    agent: Agent, directory: Path, *, level: str, timesteps: int, seed: int, run_dir: Path
) -> None:
    """Play the level of the server in `directory` until its limits are reached.

    level: its name. timesteps: the server's, for an agent's schedules. run_dir: where an adapting
    agent writes. Raises GymRemoteError if the server ends for another reason than a limit.
    """
    with contextlib.suppress(*LIMITS):
        if ":" in agent.name:
            play_function(find_function(agent.name), directory, level=level, seed=seed)
        elif agent.mode == "adapt" and agent.name not in REFERENCES:
            config = make_config(agent, timesteps=timesteps, seed=seed, run_dir=run_dir)
            adapt(agent, config, directory, level=level, run_dir=run_dir)
        else:
            source = agent.checkpoint or agent.name
            policy, settings = load_policy(source, seed=seed, device=agent.device)
            remote = RemoteVectorEnv(directory, config=settings, level=level)
            with contextlib.closing(remote) as envs:
                for _ in steps_of(policy, envs, play=agent.play):
                    pass


def play_function(
    function: Callable[[Any], object], directory: Path, *, level: str, seed: int
) -> None:
    """Let a user's function play: Discrete(7) -> uint8 [4, 84, 84]. Its exceptions pass through.

    seed: for Python's and NumPy's generators and the action space, and for PyTorch's if the
    function's module has imported it.
    """
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - what the user may draw from
    if (torch := sys.modules.get("torch")) is not None:
        torch.manual_seed(seed)
    with contextlib.closing(wrap_agent(RemoteEnv(directory, level=level), EnvConfig())) as env:
        env.action_space.seed(seed)
        function(env)


def adapt(agent: Agent, config: Any, directory: Path, *, level: str, run_dir: Path) -> None:
    """Let a package's own loop play and learn, and save the agent in run_dir/agent. If the clock,
    the last step or Ctrl-C ends the loop, save the agent of its last checkpoint.

    The run itself is in run_dir/training. Its checkpoints are removed once the agent is saved:
    with a replay they are large, and a run on a contest's level cannot be resumed.
    """
    run = find_given(agent.name).run
    folder = RunFolder(Path(config.run.run_dir))
    folder.check_free(instead="remove that folder")  # the level accepts one connection only
    with contextlib.closing(RemoteVectorEnv(directory, config=config.env, level=level)) as envs:
        try:
            learned = run(envs, config, config.run.run_dir, init=agent.checkpoint or None)
        except (*LIMITS, KeyboardInterrupt) as end:
            kept = folder.checkpoints
            with contextlib.suppress(UserError):  # there may be no checkpoint, or a full disk
                # What was learned since the last one is lost.
                load_agent(config.run.run_dir).save(run_dir / "agent")
                shutil.rmtree(folder.checkpoints, ignore_errors=True)
                kept = run_dir / "agent"
            if isinstance(end, KeyboardInterrupt) and end.args:  # they advise to resume
                advice = [f"what was learned is in {kept}"] if kept.exists() else []
                raise KeyboardInterrupt(*advice) from None
            raise
    learned.save(run_dir / "agent")
    shutil.rmtree(folder.checkpoints, ignore_errors=True)


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
    find_here_too()
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
