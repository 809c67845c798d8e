"""One run: an entry's process plays one act with a server in this process, within limits.

The entry is told nothing of the act: no name comes to its command, its environment, its folder or
the protocol, the runs come in an order that is drawn, and the season's files are covered where the
system allows it. What it writes counts for nothing: the
score is what the recording replays to, and the recording stays in this process's memory.
"""

import contextlib
import dataclasses
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, final

from retro_agents.contest.leaderboard.confine import can_hide, hidden, on_a_core
from retro_agents.contest.leaderboard.entry import Entry, command_of
from retro_agents.contest.leaderboard.season import Season
from retro_agents.contest.leaderboard.tape import Taped
from retro_agents.contest.wire.limits import Limits
from retro_agents.contest.wire.protocol import (
    GymRemoteError,
    TimestepTimeoutError,
    WallClockTimeoutError,
)
from retro_agents.contest.wire.server import serve
from retro_agents.contest.wire.socket_folder import meeting_place
from retro_agents.ground.errors import UserError
from retro_agents.ground.temporary import temporary_folder
from retro_agents.run.agents import with_this_project

POLL = 0.02
"""Seconds between looks at a run's two sides."""
GRACE = 60.0
"""Seconds in which an entry must end after its last step."""
FAREWELL = 5.0
"""Seconds in which a server ends after its client has left."""


@final
@dataclasses.dataclass(frozen=True)
class Machine:
    """What a class of entries may use in a run. Times are in seconds."""

    start: float
    """Time for the start, beside that for the steps."""
    step: float
    """Time per step."""
    stall: float
    """The longest single step, by the wall clock."""
    memory: float = float("inf")
    """The most memory of a process, in bytes."""
    slack: float = 0.0
    """0: the times are of the wall clock. Otherwise they are of one core, the only one that the
    entry gets, without an accelerator; the wall clock allows so many times as much."""

    def seconds(self, steps: int) -> float:
        """The time of a run."""
        return self.start + self.step * steps


MACHINES = {
    "cpu": Machine(start=120, step=0.02, stall=600, memory=4 * 2**30, slack=5),
    "free": Machine(start=600, step=0.0432, stall=600),
}
"""By an entry's `machine`. Free: the contest's 12 hours for 1,000,000 steps."""


@final
@dataclasses.dataclass(frozen=True)
class Played:
    """A run. masks: the buttons of every step. Times in seconds; memory: of its largest process, in
    bytes."""

    masks: array
    seconds: float
    cpu_seconds: float
    memory: int


@final
class Steps:
    """Counts a run's steps, in memory."""

    steps = 0

    def reset(self) -> None:
        """An episode begins."""

    def step(self, reward: float, *, terminated: bool, truncated: bool) -> None:
        """One step was played."""
        self.steps += 1

    def finish(self, ended: str) -> None:
        """The run ends."""


@final
class Server(threading.Thread):
    """Serves an act until the run ends. ended: why; error: what went wrong here."""

    def __init__(self, env: Taped, folder: Path, limits: Limits, seed: int) -> None:
        super().__init__(daemon=True)
        self.env, self.folder, self.limits, self.seed = env, folder, limits, seed
        self.ended: GymRemoteError | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Serve."""
        try:
            with meeting_place(self.folder) as meet:
                self.ended = serve(
                    self.env, meet, limits=self.limits, record=Steps(), seed=self.seed
                )
        except BaseException as error:
            self.error = error


def play(
    entry: Entry,
    season: Season,
    act: str,
    *,
    seed: int,
    board: Path,
    slot: int = 0,
    stopping: threading.Event | None = None,
) -> Played:
    """Let an entry play an act. board: the leaderboard's folder, which it may not see. slot: which
    of the runs that go on together it is. stopping: ends it from another thread.

    Raises UserError if the entry runs past its limits, or leaves before it has played all steps.
    """
    machine = MACHINES[entry.facts.machine]
    allowed = machine.seconds(entry.steps)
    limits = Limits(entry.steps, allowed * (machine.slack or 1), machine.stall)
    env = Taped(season, act)
    with temporary_folder() as (folder, _), contextlib.closing(env):
        home, work = folder / "entry", folder / "work"
        shutil.copytree(entry.folder, home)
        work.mkdir()
        (folder / "meet").mkdir(mode=0o700)
        said = secrets.randbits(31)  # a seed of the season would give the season's away
        command = command_of(entry, home, meet=folder / "meet", work=work, seed=said)
        environment = environment_of(entry, folder, seed=said)
        if machine.slack and not entry.facts.image:
            command = on_a_core(command, slot=slot, seconds=allowed)
        if can_hide() and not entry.facts.image:
            command = hidden(command, board=board)
        server = Server(env, folder / "meet", limits, season.sticky_seed(act, seed))
        stopping = stopping or threading.Event()
        began = time.monotonic()
        server.start()
        with (folder / "log").open("wb") as log:
            process = begun(command, cwd=home, environment=environment, log=log)
            late, usage = watched(process, server, stopping)
        if entry.facts.image:  # it does not end with the command that started it
            subprocess.run([command[0], "rm", "--force", folder.name], capture_output=True)
        server.join(FAREWELL)
        seconds = time.monotonic() - began
        last = last_line(folder / "log")
    cpu, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
    judge(server, late=late, cpu=cpu, memory=memory, machine=machine, limits=limits, said=last)
    return Played(env.masks, seconds, cpu, memory)


def environment_of(entry: Entry, folder: Path, *, seed: int) -> dict[str, str]:
    """All environment variables of an entry's process: nothing of ours that could be secret."""
    python = str(Path(sys.executable).parent)
    own = {
        "PATH": os.pathsep.join([python, os.environ.get("PATH", os.defpath)]),
        "HOME": str(folder / "work"),
        "TMPDIR": str(folder / "work"),
        "LANG": "C.UTF-8",
        "CONTEST_DIR": str(folder / "meet"),
        "CONTEST_STEPS": str(entry.steps),
        "CONTEST_SEED": str(seed),
        **with_this_project(),
    }
    if entry.cpu:
        return own | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    return own


def begun(
    command: Sequence[str], *, cwd: Path, environment: dict[str, str], log: Any
) -> subprocess.Popen[bytes]:
    """Start an entry's process. Raises UserError if it cannot start."""
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=environment,
            process_group=0,
        )
    except OSError as error:
        raise UserError(f"the entry's command cannot start: {error}") from None


def watched(
    process: subprocess.Popen[bytes], server: Server, stopping: threading.Event
) -> tuple[bool, Any]:
    """Wait until an entry's process has ended, and end it and all that it started if it outlives
    its server for too long. Returns whether it did, and what it and its own processes used."""
    deadline, late = float("inf"), False
    try:
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            if done:
                process.returncode = os.waitstatus_to_exitcode(status)
                return late, usage
            if not server.is_alive():
                deadline = min(deadline, time.monotonic() + GRACE)
            if stopping.is_set() or (time.monotonic() > deadline and not late):
                late = True
                process.kill()
            time.sleep(POLL)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.returncode is None:
            process.wait()
        assert process.stdin is not None
        process.stdin.close()


def judge(
    server: Server,
    *,
    late: bool,
    cpu: float,
    memory: int,
    machine: Machine,
    limits: Limits,
    said: str,
) -> None:
    """Raises UserError unless the run was played to its last step, within its limits."""
    if server.error is not None:
        raise server.error
    past = ""
    if isinstance(server.ended, WallClockTimeoutError):
        past = str(server.ended)
    elif machine.slack and cpu > (allowed := machine.seconds(limits.timesteps)):
        past = f"it used {cpu:.0f} s of CPU time, and {allowed:g} s are allowed"
    elif memory > machine.memory:
        past = f"it used {memory / 2**30:.1f} GiB, and {machine.memory / 2**30:.0f} are allowed"
    elif late:
        past = f"it was still running {GRACE:g} s after its last step"
    elif not isinstance(server.ended, TimestepTimeoutError):
        steps = f"{len(server.env.masks):,} of {limits.timesteps:,} steps"
        raise UserError(f"the entry left after {steps}: {said}")
    if past:
        raise UserError(f"the entry ran past its limits: {past}")


def last_line(log: Path) -> str:
    """The last line that a process wrote."""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return (lines or ["it said nothing"])[-1].removeprefix("error: ")[:300]
