"""One level and one seed: a server process, an agent process, and the result of both.

A job's folder holds the server's records, its log, the agent's log and what the agent wrote.
result.json gets a `status` when the job is over:
complete     a limit ended it, or the agent left by itself
crashed      the agent failed; the level counts with the return reached until then
Without a status the job was interrupted, and is played again (see `set_aside`).

All processes that the agent started are ended with it: they are one process group. Those that left
that group (setsid) are not; they may keep the contest's folder locked.
"""

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, final

from retro_agents.contest.match.agent import Agent
from retro_agents.contest.match.folder import job_folder, read_result, set_aside
from retro_agents.contest.wire.limits import Limits
from retro_agents.contest.wire.protocol import LIMITS, SERVER_GONE, SOCKET
from retro_agents.contest.wire.socket_folder import LONGEST_PATH
from retro_agents.contract.envs import row_seeds
from retro_agents.games.retro.levels import Level
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import write_json
from retro_agents.ground.output import last_line
from retro_agents.ground.results import installed
from retro_agents.ground.temporary import temporary_folder
from retro_agents.judging.film import keep_best
from retro_agents.judging.score import read_episodes
from retro_agents.run.agents import with_this_project

GRACE_SECONDS = 10.0
"""Time for the server to end after its agent, and for both to end after SIGTERM."""
LIMIT_NAMES = tuple(limit.__name__ for limit in LIMITS)
STOPPED = "server stopped"
USER_ERROR = 2
BEST = "best.bk2"


@final
@dataclasses.dataclass(frozen=True)
class Contest:
    """What all jobs share. record: keep the recording of each job's best episode. facts: the
    agent's, for result.json. lock: the folder's, which all processes keep, so that after a kill the
    folder is free once they have ended."""

    out: Path
    agent: Agent
    limits: Limits
    record: bool
    facts: dict[str, Any]
    lock: int


@final
class Job:
    """Starts both sides. `poll` until it is over; `stop` ends it at once."""

    def __init__(self, contest: Contest, level: Level, seed: int, *, name: str) -> None:
        """name: the job's name in messages."""
        self.contest, self.level, self.seed, self.name = contest, level, seed, name
        self.folder = job_folder(contest.out, level, seed)
        self.alone_since: float | None = None
        self.swept = False
        self.stopped_server = False
        self.temporary = contextlib.ExitStack()
        try:
            set_aside(self.folder)
            self.folder.mkdir(parents=True)
            folder, self.lock = self.temporary.enter_context(temporary_folder())
            self.meeting = folder / "meet"  # which the server locks for itself
            self.meeting.mkdir()
            if len(os.fsencode(self.meeting / SOCKET)) > LONGEST_PATH:
                raise UserError(f"{self.meeting} is too long a path for a socket: give TMPDIR=/tmp")
            self.server = self.start("server", self.server_command())
            steps, run_dir = contest.limits.timesteps, self.folder.absolute()
            player = contest.agent.command(
                self.meeting, str(level), steps=steps, seed=seed, run_dir=run_dir
            )
            self.player = self.start("agent", player)
        except (OSError, UserError) as error:
            self.temporary.close()
            raise UserError(f"cannot begin {name}: {error}") from None

    def server_command(self) -> list[str]:
        """The server's command. Its seed is the one that a local vector environment would use."""
        limits = self.contest.limits
        command = ["retro_agents.contest.serve", "--leash", self.level.game, self.level.state]
        command += ["--dir", str(self.meeting), "--results", str(self.folder.absolute())]
        command += ["--timesteps", str(limits.timesteps), "--wall-clock", f"{limits.wall_clock:f}s"]
        command += ["--stall", f"{limits.stall:f}s", "--seed", str(row_seeds(self.seed, 1)[0])]
        command += ["--backend", self.contest.facts["backend"]]
        return [*command, "--record"] if self.contest.record else command

    def start(self, side: str, command: list[str]) -> subprocess.Popen[bytes]:
        """Start a process that logs to SIDE.log, in its own group: Ctrl-C reaches only us."""
        with (self.folder / f"{side}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **with_this_project()},
                pass_fds=[self.contest.lock, self.lock],
                process_group=0,
            )

    def poll(self) -> bool:
        """Whether both sides have ended. Ends a side that outlives the other for too long."""
        server, player = self.server.poll(), self.player.poll()
        if player is not None:
            self.sweep()
        if (server is None) == (player is None):
            return server is not None
        now = time.monotonic()
        if self.alone_since is None:
            self.alone_since = now
        if server is None and now - self.alone_since > GRACE_SECONDS:
            self.server.send_signal(signal.SIGKILL if self.stopped_server else signal.SIGTERM)
            self.stopped_server = True
            self.alone_since = now
        # An agent may need minutes to save itself, but gets no longer than one step may take.
        if player is None and now - self.alone_since > self.contest.limits.stall:
            self.player.kill()
        return False

    def stop(self) -> None:
        """End both sides; the job stays interrupted, unless a limit had already ended it."""
        for process in (self.player, self.server):
            process.terminate()
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
        """Kill the processes that the agent left running, once, as soon as it has ended."""
        if not self.swept:
            self.swept = True
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.player.pid, signal.SIGKILL)

    def clean(self) -> None:
        """Remove temporary files, and let go of both leashes."""
        for process in (self.player, self.server):
            assert process.stdin is not None
            process.stdin.close()
        self.temporary.close()

    def finish(self) -> str:
        """Write the result -> its status; "interrupted" if the server died or wrote nothing.

        Raises UserError if the agent or the server was given wrong settings.
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
        if self.contest.record:
            returns = [episode.r for episode in read_episodes(self.folder)]
            keep_best(self.folder / "bk2", returns, self.folder / BEST)
        result |= {
            "server_seed": result.get("seed"),
            "seed": self.seed,
            "agent": self.contest.facts,
            "agent_exit": codes[1],
            "status": status,
        }
        names = ("torch", "retro-contest-agents")
        own = {name: installed(name) or "not installed" for name in names}
        result["versions"] = {**result.get("versions", {}), **own}
        write_json(self.folder / "result.json", result)
        return status

    def last_line(self, side: str) -> str:
        """The last line that a side wrote."""
        with (self.folder / f"{side}.log").open("rb") as log:
            return last_line(log)


def at_limit(ended: str | None, *, played: bool) -> bool:
    """Whether the server ended at a limit; a limit reached before any step does not count."""
    return played and ended is not None and ended.startswith(LIMIT_NAMES)


def judge(ended: str | None, *, played: bool, server_died: bool, agent_code: int) -> str:
    """The status of a job from the server's last word and how both sides ended.

    The agent's report that the server has gone counts only if the server reported nothing else.
    """
    if at_limit(ended, played=played):
        return "complete"  # whatever happened to the agent afterwards
    reported = played and ended is not None and not ended.startswith(STOPPED)
    too_late = agent_code == 0 and at_limit(ended, played=True)  # before its first step
    if server_died or too_late or (agent_code == SERVER_GONE and not reported):
        return "interrupted"
    return "complete" if agent_code == 0 else "crashed"
