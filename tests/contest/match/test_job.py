"""What a job's end is called."""

import subprocess
import sys
from itertools import pairwise
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from retro_agents.contest.match.agent import Agent
from retro_agents.contest.match.job import Contest, Job, judge
from retro_agents.contest.wire.limits import Limits, parse_seconds
from retro_agents.contest.wire.protocol import SERVER_GONE
from retro_agents.contract.envs import row_seeds
from retro_agents.games.retro.levels import Level
from retro_agents.ground.errors import UserError

LIMIT, LEFT = "TimestepTimeoutError: all", "ClientDisconnectError: the client closed"
THROWN_OUT = "GymRemoteError: 100 bad requests in a row"
TOLD_TO_STOP = "server stopped: SystemExit"
SLOW = "WallClockTimeoutError: the client did nothing for 1 s"
NOBODY = "WallClockTimeoutError: no client came and began to play"


def job_in(folder, limits, *, record=False, backend="native"):
    facts = {"backend": backend}
    contest = Contest(folder, Agent("random"), limits, record, facts=facts, lock=0)
    return Job(contest, Level("BrambleDash-Genesis-v0", "BrambleWood.Act1"), 0, name="job")


@pytest.mark.parametrize(
    ("ended", "played", "server_died", "agent_code", "status"),
    [
        (LIMIT, True, False, 0, "complete"),
        (LIMIT, True, False, -9, "complete"),  # what became of the agent afterwards is its own
        (LEFT, True, False, 0, "complete"),
        (LEFT, True, False, 1, "crashed"),
        (LEFT, False, False, 1, "crashed"),
        (LEFT, True, False, SERVER_GONE, "crashed"),  # it says so, and the server does not
        (THROWN_OUT, True, False, SERVER_GONE, "crashed"),
        (TOLD_TO_STOP, True, False, SERVER_GONE, "interrupted"),
        (None, True, True, SERVER_GONE, "interrupted"),
        (None, True, True, 1, "interrupted"),
        (NOBODY, False, False, SERVER_GONE, "interrupted"),  # the agent came too late
        (NOBODY, False, False, -9, "crashed"),  # it never came
        (SLOW, False, False, 0, "interrupted"),  # it came, and was too late for its first step
    ],
)
def test_status_of_a_job(ended, played, server_died, agent_code, status):
    found = judge(ended, played=played, server_died=server_died, agent_code=agent_code)
    assert found == status


@pytest.mark.parametrize(
    ("place", "words"),
    [("none", "cannot begin job: .*No such file"), ("x" * 100, "too long a path")],
)
def test_a_job_that_finds_no_place_to_meet_is_one_line(tmp_path, monkeypatch, place, words):
    if place != "none":
        (tmp_path / place).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / place))
    with pytest.raises(UserError, match=words) as raised:
        job_in(tmp_path, Limits())
    assert r"\n" not in str(raised.value)


@pytest.mark.parametrize("record", [False, True])
def test_a_job_whose_server_wrote_nothing_is_interrupted(tmp_path, monkeypatch, record):
    """The agent was gone before the server had begun, which was then told to end."""

    def start(job, side, command):
        code = 1 if side == "agent" else 0
        ended = [sys.executable, "-c", f"raise SystemExit({code})"]
        return subprocess.Popen(ended, stdin=subprocess.PIPE, process_group=0)

    monkeypatch.setattr(Job, "start", start)
    job = job_in(tmp_path, Limits(wall_clock=1e16, stall=1e-5), record=record, backend="emulator")
    command = job.server_command()
    told = {flag: word for flag, word in pairwise(command) if flag.startswith("--")}
    assert [parse_seconds(told[flag]) for flag in ("--wall-clock", "--stall")] == [1e16, 1e-5]
    # The seed of a local vector environment's row.
    assert (told["--backend"], told["--seed"]) == ("emulator", str(row_seeds(0, 1)[0]))
    assert ("--record" in command) == record
    job.stopped_server = True
    for process in (job.server, job.player):
        process.wait()
    assert job.finish() == "interrupted"
    assert not (job.folder / "result.json").exists()


@pytest.mark.parametrize("stall", [0.0, 600.0])
def test_an_agent_has_the_time_of_a_step_to_save_itself_once_the_server_is_gone(stall, monkeypatch):
    monkeypatch.setattr("retro_agents.contest.match.job.GRACE_SECONDS", 0.0)
    job = object.__new__(Job)
    job.contest = SimpleNamespace(limits=SimpleNamespace(stall=stall))
    job.server, job.player = Mock(poll=lambda: 0), Mock(poll=lambda: None)
    job.alone_since = None
    assert not job.poll() and not job.poll()
    assert job.player.kill.called == (stall == 0.0)
