"""What a job's end is called."""

import pytest

from contest.job import judge
from contest.player import SERVER_GONE

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
