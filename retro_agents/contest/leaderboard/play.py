"""One run: an entry's process plays one act with a server in this process, within limits.

The entry is told nothing of the act: no name comes to its command, its environment, its folder or
the protocol, the runs come in an order that is drawn, and the season's files are covered where the
system allows it. What it writes counts for nothing: the
score is what the recording replays to, and the recording stays in this process's memory.
"""

import contextlib
import dataclasses
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from array import array
from pathlib import Path
from typing import IO, final

from retro_agents.contest.leaderboard.confine import begun, can_hide, used
from retro_agents.contest.leaderboard.entry import (
    CACHE,
    Entry,
    command_of,
    environment_for_engine,
)
from retro_agents.contest.leaderboard.season import Season
from retro_agents.contest.leaderboard.tape import Taped
from retro_agents.contest.wire.limits import Limits
from retro_agents.contest.wire.protocol import (
    GymRemoteError,
    TimestepTimeoutError,
    WallClockTimeoutError,
)
from retro_agents.contest.wire.server import Session, serve
from retro_agents.contest.wire.socket_folder import meeting_place
from retro_agents.ground.errors import UserError
from retro_agents.ground.output import MOST_READ, last_line
from retro_agents.ground.temporary import temporary_folder
from retro_agents.run.agents import with_this_project

POLL = 0.02
"""Seconds between looks at a run's two sides."""
LOOK = 1.0
"""Seconds between looks at an entry's memory."""
GRACE = 60.0
"""Seconds in which an entry must end after its last step."""
FAREWELL = 5.0
"""Seconds in which a server ends after its client has left."""
CONNECT = 120.0
"""Seconds in which an entry must connect."""
PRINTED = 64 * 2**20
"""The most that an entry may print, in bytes."""


@final
@dataclasses.dataclass(frozen=True)
class Machine:
    """What a class of entries may use in a run. Times are in seconds."""

    start: float
    """Time for the start, besides that for the steps."""
    step: float
    """Time per step."""
    stall: float
    """The longest single step, by the wall clock."""
    memory: float = float("inf")
    """The most memory of a process, and of all together, in bytes."""
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


class RefusedError(UserError):
    """An entry that ended a run early or exceeded its limits. output: the end of what it wrote."""

    output = b""


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
                session = Session(
                    self.env, meet, limits=self.limits, record=None, seed=self.seed, connect=CONNECT
                )
                self.ended = serve(session)
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

    Raises RefusedError if the entry runs past its limits, or leaves before it has played all steps.
    """
    machine = MACHINES[entry.facts.machine]
    allowed = machine.seconds(entry.steps)
    image = bool(entry.facts.image)
    slack = 1 if image else machine.slack or 1  # what an image uses is not measured
    limits = Limits(entry.steps, allowed * slack, machine.stall)
    env = Taped(season, act)
    # The log has no name, so that the entry cannot put another file there.
    with temporary_folder() as (place, _), contextlib.closing(env), tempfile.TemporaryFile() as log:
        folder = place.resolve()
        home, work = folder / "entry", folder / "work"
        try:
            shutil.copytree(entry.folder, home, ignore=shutil.ignore_patterns(CACHE))
            work.mkdir()
            (folder / "meet").mkdir(mode=0o700)
        except OSError:
            raise UserError(
                f"cannot copy {entry.folder} to {folder}: free some space there, or set TMPDIR"
            ) from None
        entry_seed = season.agent_seed(act, seed, entry.sha256)
        command = command_of(entry, home, meet=folder / "meet", work=work, seed=entry_seed)
        own = environment_of(entry, folder, seed=entry_seed)
        environment = environment_for_engine(os.geteuid()) if image else own
        server = Server(env, folder / "meet", limits, season.sticky_seed(act, seed))
        began = time.monotonic()
        process, channel = begun(
            command,
            folder=folder,
            board=board,
            hide=can_hide() and not image,
            slot=slot if machine.slack and not image else None,
            seconds=allowed,
            environment=environment,
            log=log,
        )
        server.start()
        with channel:
            late = watched(
                process, channel, server, stopping or threading.Event(), machine=machine, log=log
            )
            use = used(channel)
        if image:  # it does not end with the command that started it
            subprocess.run([command[0], "rm", "--force", folder.name], capture_output=True)
            use = (0.0, 0)
        server.join(FAREWELL)
        seconds = time.monotonic() - began
        said = last_line(log, otherwise=f"it said nothing, and its exit code is {process.poll()}")
        log.seek(max(0, log.seek(0, os.SEEK_END) - MOST_READ))
        output = log.read()
    try:
        judge(server, late=late, use=use, machine=machine, said=said)
    except RefusedError as error:
        error.output = output
        raise
    assert use is not None
    return Played(env.masks, seconds, *use)


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


def watched(
    process: subprocess.Popen[bytes],
    channel: socket.socket,
    server: Server,
    stopping: threading.Event,
    *,
    machine: Machine,
    log: IO[bytes],
) -> str:
    """Wait until an entry's process has ended, and end it and all that it started if it outlives
    its server for too long, prints too much, or fills the memory. Returns why, if it did."""
    deadline, late, look = float("inf"), "", 0.0
    try:
        while process.poll() is None:
            now = time.monotonic()
            if not server.is_alive():
                over = server.error or isinstance(server.ended, WallClockTimeoutError)
                deadline = min(deadline, now + (0.0 if over else GRACE))
            if late and now > deadline + FAREWELL:
                process.kill()
            elif not late:
                if stopping.is_set() or now > deadline:
                    late = f"it was still running {GRACE:g} s after its last step"
                elif os.fstat(log.fileno()).st_size > PRINTED:
                    late = f"it printed more than {PRINTED / 2**20:.0f} MiB"
                elif machine.memory < float("inf") and now > look:
                    memory, look = resident(process.pid), now + LOOK
                    late = past_memory(memory, machine)
                if late:
                    deadline = now
                    channel.shutdown(socket.SHUT_WR)
            time.sleep(POLL)
        return late
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


def past_memory(memory: int, machine: Machine) -> str:
    """Why so much memory is too much; "" if it is not."""
    if memory > machine.memory:
        return f"it used {memory / 2**30:.1f} GiB, and {machine.memory / 2**30:.0f} are allowed"
    return ""


def resident(first: int) -> int:
    """Bytes of memory of a process and of all that it started. What they share counts once."""
    total, left = 0, [first]
    while left:
        process = Path(f"/proc/{left.pop()}")
        with contextlib.suppress(OSError):  # it has ended
            for file in process.glob("task/*/children"):
                left += map(int, file.read_text().split())
            text = (process / "smaps_rollup").read_text()
            total += sum(int(size) * 1024 for size in re.findall(r"^Pss:\s+(\d+)", text, re.M))
    return total


def judge(
    server: Server, *, late: str, use: tuple[float, int] | None, machine: Machine, said: str
) -> None:
    """Raises RefusedError unless the run was played to its last step, within its limits."""
    timesteps = server.limits.timesteps
    if isinstance(server.error, OSError):
        # Before the first step an entry has nothing to choose by, so its other runs stay.
        kind = RefusedError if server.env.masks else UserError
        raise kind(f"the entry's server failed: {server.error}")
    if server.error is not None:
        raise server.error
    (cpu, memory), past = use or (0.0, 0), ""
    if isinstance(server.ended, WallClockTimeoutError):
        past = str(server.ended)
        if not server.env.masks:
            past += f": {said}"
    elif machine.slack and cpu > (allowed := machine.seconds(timesteps)):
        past = f"it used {cpu:.0f} s of CPU time, and {allowed:g} s are allowed"
    elif excess := past_memory(memory, machine):
        past = excess
    elif late:
        past = late
    elif not isinstance(server.ended, TimestepTimeoutError):
        steps = f"{len(server.env.masks):,} of {timesteps:,} steps"
        raise RefusedError(f"the entry left after {steps}: {said}")
    elif use is None:
        past = "it ended the process that measures it"
    if past:
        raise RefusedError(f"the entry ran past its limits: {past}")
