"""One level and one seed: a server process, an agent process, and what came of both.

A job's folder holds the server's records, its log, the agent's log and what the agent wrote.
result.json has a `status` from the moment that the job is over:
complete     a limit ended it, or the agent left by itself
crashed      the agent failed; the level counts with what it reached
Without one the job was interrupted, and is played again (see `set_aside`).

Whoever the agent started goes with it: its processes are one group.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, final

from contest.agents import Agent
from contest.player import SERVER_GONE
from contest.score import read_episodes
from envs import row_seeds
from experiment.errors import UserError
from experiment.files import write_json
from retro_env.levels import Level

GRACE_SECONDS = 10.0
"""What the server has to end after its agent, and both to end when they are told to."""
LIMITS = ("TimestepTimeoutError", "WallClockTimeoutError")
STOPPED = "server stopped"
USER_ERROR = 2
BEST = "best.bk2"


@final
@dataclasses.dataclass(frozen=True)
class Rules:
    """What all jobs of a contest share. Times in seconds."""

    timesteps: int
    wall_clock: float
    stall: float
    record: bool
    """Whether the best episode's recording is kept."""


def job_folder(out: Path, level: Level, seed: int) -> Path:
    """Where a job's files go."""
    return out / f"{level.game}-{level.state}" / f"seed-{seed}"


def read_result(folder: Path) -> dict[str, Any] | None:
    """A job's result.json; None where there is none."""
    try:
        found: dict[str, Any] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found


def is_over(folder: Path) -> bool:
    """Whether a job need not be played again: complete, or crashed after its first step."""
    result = read_result(folder)
    if result is None or result.get("status") is None:
        return False
    return result["status"] == "complete" or result["steps"] > 0


def job_folders(out: Path) -> list[Path]:
    """The folders of all jobs that have a result; those that were set aside are left out."""
    folders = [path.parent for path in sorted(out.glob("*/seed-*/result.json"))]
    return [folder for folder in folders if folder.name.removeprefix("seed-").isdecimal()]


def set_aside(folder: Path) -> None:
    """Rename an interrupted job's folder to NAME.interrupted-1, -2, …: its records are kept."""
    if not folder.exists():
        return
    number = 1
    while (target := folder.with_name(f"{folder.name}.interrupted-{number}")).exists():
        number += 1
    folder.rename(target)


@final
class Job:
    """Starts both sides; `poll` until it is over; `stop` ends it at once."""

    def __init__(
        self,
        out: Path,
        agent: Agent,
        level: Level,
        *,
        name: str,
        seed: int,
        rules: Rules,
        facts: dict[str, Any],
        lock: int,
    ) -> None:
        """name: how it is shown. facts: of the agent, for result.json.

        lock: a descriptor that both processes keep.
        """
        self.facts = facts
        self.level, self.seed, self.agent, self.rules = level, seed, agent, rules
        self.name = name
        self.folder = job_folder(out, level, seed)
        set_aside(self.folder)
        self.folder.mkdir(parents=True)
        self.meeting = Path(tempfile.mkdtemp(prefix="contest-"))
        self.alone_since: float | None = None
        self.swept = False
        self.stopped_server = False
        self.server = self.start("server", self.server_command(), lock)
        self.player = self.start("agent", self.player_command(), lock)

    def server_command(self) -> list[str]:
        """Its seed is the one that a local vector environment of this seed would use."""
        rules = self.rules
        command = ["contest.serve", "--leash", self.level.game, self.level.state]
        command += ["--dir", str(self.meeting), "--results", str(self.folder.absolute())]
        command += ["--timesteps", str(rules.timesteps), "--wall-clock", f"{rules.wall_clock}s"]
        command += ["--stall", f"{rules.stall}s", "--seed", str(row_seeds(self.seed, 1)[0])]
        return [*command, "--record"] if rules.record else command

    def player_command(self) -> list[str]:
        """The agent's side, which leaves with this process."""
        agent = self.agent
        command = ["contest.player", "--leash", "--dir", str(self.meeting)]
        command += ["--agent", agent.name, "--mode", agent.mode, "--device", agent.device]
        command += ["--timesteps", str(self.rules.timesteps), "--seed", str(self.seed)]
        command += ["--level", str(self.level), "--run-dir", str(self.folder.absolute())]
        if agent.checkpoint:
            command += ["--checkpoint", agent.checkpoint]
        return [*command, "--", *agent.flags]

    def start(self, side: str, command: list[str], lock: int) -> subprocess.Popen[bytes]:
        """A process with its output in SIDE.log, in a group of its own: Ctrl-C is ours."""
        root = str(Path(__file__).resolve().parents[1])
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        with (self.folder / f"{side}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": path},
                pass_fds=[lock],
                process_group=0,
            )

    def poll(self) -> bool:
        """Whether both sides have ended. A side that outlives the other too long is ended."""
        server, player = self.server.poll(), self.player.poll()
        if player is not None:
            self.sweep()
        if server is not None and player is not None:
            return True
        if server is None and player is None:
            return False
        now = time.monotonic()
        if self.alone_since is None:
            self.alone_since = now
        if server is None and now - self.alone_since > GRACE_SECONDS:
            self.stopped_server = True
            self.server.send_signal(signal.SIGTERM)
            self.alone_since = now
        # An agent may want minutes to save itself, but not for ever.
        if player is None and now - self.alone_since > self.rules.stall:
            self.player.kill()
        return False

    def stop(self) -> None:
        """End both sides; the job stays interrupted, unless a limit had ended it already."""
        for process in (self.player, self.server):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in (self.player, self.server):
            try:
                process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.sweep()
        result = read_result(self.folder)
        if result is not None and at_limit(result["ended"], played=result["steps"] > 0):
            self.finish()
        else:
            self.clean()

    def sweep(self) -> None:
        """End what the agent has left running: once, as soon as it has ended itself."""
        if not self.swept:
            self.swept = True
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.player.pid, signal.SIGKILL)

    def clean(self) -> None:
        """Remove what is not worth keeping."""
        for process in (self.player, self.server):
            assert process.stdin is not None
            process.stdin.close()
        shutil.rmtree(self.meeting, ignore_errors=True)

    def finish(self) -> str:
        """Write down how it went -> its status; "interrupted": the server died or wrote nothing.

        Errors: UserError (the agent was given something wrong, or the server was).
        """
        self.clean()
        found = read_result(self.folder)
        result = found or {"steps": 0, "ended": None}
        codes = self.server.returncode, self.player.returncode
        if result["steps"] == 0 and USER_ERROR in codes:
            side = "server" if codes[0] == USER_ERROR else "agent"
            raise UserError(f"{self.name}: {self.last_line(side)}")
        status = judge(
            result["ended"],
            played=result["steps"] > 0,
            server_died=codes[0] != 0 and not self.stopped_server,
            agent_code=codes[1],
        )
        if status == "interrupted" or found is None:  # the server never got to write its records
            return "interrupted"
        if self.rules.record:
            keep_best(self.folder)
        result |= {
            "server_seed": result.get("seed"),
            "seed": self.seed,
            "agent": self.facts,
            "agent_exit": codes[1],
            "status": status,
        }
        result["versions"] = {**result.get("versions", {}), **versions()}
        write_json(self.folder / "result.json", result)
        return status

    def last_line(self, side: str) -> str:
        """The last line that a side wrote."""
        lines = (self.folder / f"{side}.log").read_text(encoding="utf-8", errors="replace")
        return (lines.strip().splitlines() or ["no message"])[-1].removeprefix("error: ")


def at_limit(ended: str | None, *, played: bool) -> bool:
    """Whether the server's last word is a limit; one that no step came before says nothing."""
    return played and ended is not None and ended.startswith(LIMITS)


def judge(ended: str | None, *, played: bool, server_died: bool, agent_code: int) -> str:
    """The status of a job from the server's last word and how both sides ended.

    An agent's word that the server has gone counts only where the server has no other.
    """
    if at_limit(ended, played=played):
        return "complete"  # whatever became of the agent afterwards
    told = played and ended is not None and not ended.startswith(STOPPED)
    if server_died or (agent_code == SERVER_GONE and not told):
        return "interrupted"
    return "complete" if agent_code == 0 else "crashed"


def keep_best(folder: Path) -> None:
    """Of a recording per episode, the one with the highest return, as best.bk2."""
    recordings = sorted((folder / "bk2").glob("*.bk2"))
    returns = [episode.r for episode in read_episodes(folder)]
    if returns and len(recordings) >= len(returns):
        recordings[returns.index(max(returns))].rename(folder / BEST)
    shutil.rmtree(folder / "bk2", ignore_errors=True)


def versions() -> dict[str, str]:
    """Of what the agent's side computes with."""
    found = {}
    for name in ("torch", "retro-contest-agents"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found
