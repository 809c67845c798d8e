"""What a job's end is called."""

import subprocess
import sys
from pathlib import Path

import pytest

from retro_agents.contest.match.agent import Agent
from retro_agents.contest.match.job import Contest, Job, judge
from retro_agents.contest.signals import SERVER_GONE
from retro_agents.contest.wire.limits import Limits, parse_seconds
from retro_agents.games.retro.levels import Level
from retro_agents.ground.errors import UserError

LIMIT, LEFT = "TimestepTimeoutError: all", "ClientDisconnectError: the client closed"
THROWN_OUT = "GymRemoteError: 100 bad requests in a row"
TOLD_TO_STOP = "server stopped: SystemExit"
NOBODY = "WallClockTimeoutError: no client came and began to play"


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
    ],
)
def test_status_of_a_job(
    ended: str | None, played: bool, server_died: bool, agent_code: int, status: str
) -> None:
    found = judge(ended, played=played, server_died=server_died, agent_code=agent_code)
    assert found == status


@pytest.mark.parametrize(
    ("place", "words"),
    [("none", "cannot begin job: .*No such file"), ("x" * 100, "too long a path")],
)
def test_a_job_that_finds_no_place_to_meet_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, words: str
) -> None:
    if place != "none":
        (tmp_path / place).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / place))
    contest = Contest(
        tmp_path, Agent("random"), Limits(), False, facts={"backend": "native"}, lock=0
    )
    with pytest.raises(UserError, match=words) as raised:
        Job(contest, Level("BrambleDash-Genesis-v0", "BrambleWood.Act1"), 0, name="job")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("record", [False, True])
def test_a_job_whose_server_wrote_nothing_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: bool
) -> None:
    """The agent was gone before the server had begun, which was then told to end."""

    def start(job: Job, side: str, command: list[str]) -> subprocess.Popen[bytes]:
        code = 1 if side == "agent" else 0
        ended = [sys.executable, "-c", f"raise SystemExit({code})"]
        return subprocess.Popen(ended, stdin=subprocess.PIPE, process_group=0)

    monkeypatch.setattr(Job, "start", start)
    limits = Limits(wall_clock=1e16, stall=1e-5)
    contest = Contest(
        tmp_path, Agent("random"), limits, record, facts={"backend": "native"}, lock=0
    )
    job = Job(contest, Level("BrambleDash-Genesis-v0", "BrambleWood.Act1"), 0, name="job")
    command = job.server_command()
    told = [command[command.index(flag) + 1] for flag in ("--wall-clock", "--stall")]
    assert [*map(parse_seconds, told)] == [1e16, 1e-5]
    job.stopped_server = True
    for process in (job.server, job.player):
        process.wait()
    assert job.finish() == "interrupted"
    assert not (job.folder / "result.json").exists()
