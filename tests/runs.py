"""What tests ask of whole runs: whether two are the same, how well their agents play, and to be
stopped."""

import json
import multiprocessing
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from retro_agents.experience.actors import RayActors
from retro_agents.run.agents import GROUP
from retro_agents.run.checkpoint import latest_checkpoint, load_checkpoint

ROOT = Path(__file__).parents[1]
KILLS = int(os.environ.get("KILLS", "1"))
"""Number of kills in each test that kills processes."""


def in_python(code, *arguments):
    """Run code in a Python of its own, in the checkout."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def program(path, text):
    """Write a program, often in the place of another -> its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def register(place, name):
    """What an installation of an agent's package leaves in a folder, for pip and for `find`."""
    facts = place / f"{name}-1.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (facts / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {name}\n")


def play(agent, envs, episodes=4):
    """Mean return of the actions that the agent holds best."""
    obs, _ = envs.reset()
    returns = []
    starts = np.ones(envs.num_envs, bool)
    while len(returns) < episodes:
        obs, _, terminated, truncated, infos = envs.step(agent.act(obs, play="best", starts=starts))
        starts = terminated | truncated
        returns += [infos["episode_record"]["r"][env] for env in np.flatnonzero(starts)]
    return float(np.mean(returns))


class Stop(Exception):  # noqa: N818
    """A run was stopped."""


def what_it_left(run_dir):
    """What a run measured, and every file of its last checkpoint, but for what the clock says."""
    tables = [run_dir / name for name in ("metrics.csv", "episodes.csv")]
    return {
        path.name: path.read_bytes() for path in (*tables, *latest_checkpoint(run_dir).iterdir())
    }


def assert_same_run(one, other):
    """Metrics, episodes and the last checkpoints are equal, byte by byte."""
    left, right = what_it_left(one), what_it_left(other)
    assert left.keys() == right.keys()
    differ = [name for name in left if left[name] != right[name]]
    assert not differ, differ


def but_for_config(run_dir):
    """What a run left, and its counters, but for its config."""
    left = what_it_left(run_dir)
    files = json.loads(left.pop("meta.json"))["files"]
    del files["config.json"], left["config.json"]
    return left, files, load_checkpoint(run_dir).counters


def stopping(envs, run_dir):
    """The environments, where the run is stopped a few of their steps after its first
    checkpoint."""
    wait, left = envs.step_wait, [0, 1, 2]

    def step_wait(*args, **kwargs):
        if any(run_dir.glob("checkpoints/step-*/meta.json")):
            if not left:
                raise Stop
            left.pop()
        return wait(*args, **kwargs)

    envs.step_wait = step_wait
    return envs


def learner(pid):
    """The command's own process."""
    return pid


def children(pid):
    """The processes that one has started (Linux)."""
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def raylet(pid):
    """Ray's node process, which the command has started (Linux)."""
    return next(p for p in children(pid) if Path(f"/proc/{p}/comm").read_text() == "raylet\n")


def family(pid):
    """The process and all that descend from it."""
    return [pid, *(one for child in children(pid) for one in family(child))]


FORKS = multiprocessing.get_context("forkserver")
"""Processes that begin with PyTorch and this project imported, once for all."""
FORKS.set_forkserver_preload(["tests.agents.tiny", "rainbow.training", "ppo2.training"])


def member(rank, port, work, arguments):
    """What a process of `in_two_processes` does."""
    rank, port = str(rank), str(port)
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": "2"}
    os.environ |= {**where, "RANK": rank, "LOCAL_RANK": rank}
    work(*arguments)


def in_two_processes(work, *arguments):
    """Work in two processes that know of each other as under torchrun, without its start."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    both = [
        FORKS.Process(target=member, args=(rank, port, work, arguments), daemon=True)
        for rank in range(2)
    ]
    for process in both:
        process.start()
    for process in both:
        process.join(240)
    assert [process.exitcode for process in both] == [0, 0]


def kill_at(step, pid, run_dir, *, ended, pause=0.0, victim=learner):
    """Kill a run's process `pause` seconds after it has a checkpoint of that step or later. ended:
    returns its exit code once it has ended. victim: maps its process id to that of the process to
    kill."""
    while not any(
        int(meta.parent.name.removeprefix("step-")) >= step
        for meta in run_dir.glob("checkpoints/step-*/meta.json")
    ):
        assert ended() is None, "ended before it could be killed"
        time.sleep(0.002)
    time.sleep(pause)
    os.kill(victim(pid), signal.SIGKILL)


def killed_runs(command, flags, run_dir, *, victim):
    """Begin a run, kill it, resume it, and so on, each time a little longer after a checkpoint of
    its own -> the checkpoint that it goes on from, each time. victim: see `kill_at`."""
    reached = 0
    for number in range(KILLS):
        more = [*command, *(["--resume"] if number else flags), "--run-dir", str(run_dir)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(more, cwd=ROOT, **quiet) as process:
            pause = 0.02 * number
            kill_at(
                reached + 1, process.pid, run_dir, ended=process.poll, pause=pause, victim=victim
            )
        assert process.returncode != 0
        saved = load_checkpoint(run_dir)
        reached = saved.counters["env_steps"]
        yield saved


def tell(number):
    """What a signal does in this process. Not by a real one, which would end all tests if nothing
    handled it."""
    signal.getsignal(number)(number, None)


def interrupted(command, run_dir, *, number=signal.SIGINT, told=lambda pid: [pid]):
    """Start a training command, press Ctrl-C as soon as it has measured something, and let it end
    -> what it said on stderr. number: the signal. told: the processes that get it."""
    # A shell starts jobs in the background deaf to SIGINT, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)
    table = run_dir / "metrics.csv"
    while not table.exists() or table.read_text().count("\n") < 2:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)
    for pid in told(process.pid):
        with suppress(ProcessLookupError):  # a child that the command has ended by then
            os.kill(pid, number)
    said = process.communicate(timeout=240)[1]
    assert process.returncode != 0
    return said


@contextmanager
def files_up_to(size):
    """No file may become longer than so many bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def kill_actors(monkeypatch, *, after):
    """Kill an actor's process, KILLS times: each time when `after` blocks were taken since the last
    restart, and one more has come -> the list of all blocks that are taken."""
    taken: list[Any] = []
    take, killed, since = RayActors.next, 0, 0

    def watched(self):
        nonlocal killed, since
        played = take(self)
        if killed < KILLS and since == after:
            self.ray.kill(self.processes[played.actor])
            killed, since = killed + 1, 0
        elif self.restarts == killed:
            since += 1
        taken.append(played)
        return played

    monkeypatch.setattr(RayActors, "next", watched)
    return taken


def processes_of(out):
    """Ids of all processes, except this one, whose command line names the folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            text = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(out) in text and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def soon(there):
    """What is there, as soon as something is, or after two minutes."""
    until = time.monotonic() + 120
    while not (found := there()) and time.monotonic() < until:
        time.sleep(0.02)
    return found


def gone(out):
    """Whether `processes_of` the folder all end soon."""
    return soon(lambda: not processes_of(out))
