"""What a job's end is called."""

import subprocess
import sys

import pytest

from retro_agents.contest.match.agent import Agent
from retro_agents.contest.match.job import Contest, Job, judge
from retro_agents.contest.wire.limits import Limits, parse_seconds
from retro_agents.contest.wire.protocol import SERVER_GONE
from retro_agents.games.retro.levels import Level
from retro_agents.ground.errors import UserError

LIMIT, LEFT = "TimestepTimeoutError: all", "ClientDisconnectError: the client closed"
THROWN_OUT = "GymRemoteError: 100 bad requests in a row"
TOLD_TO_STOP = "server stopped: SystemExit"
SLOW = "WallClockTimeoutError: the client did nothing for 1 s"
NOBODY = "WallClockTimeoutError: no client came and began to play"


def job_in(folder, limits, *, record=False):
    facts = {"backend": "native"}
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
    job = job_in(tmp_path, Limits(wall_clock=1e16, stall=1e-5), record=record)
    command = job.server_command()
    told = [command[command.index(flag) + 1] for flag in ("--wall-clock", "--stall")]
    assert [*map(parse_seconds, told)] == [1e16, 1e-5]
    job.stopped_server = True
    for process in (job.server, job.player):
        process.wait()
    assert job.finish() == "interrupted"
    assert not (job.folder / "result.json").exists()
