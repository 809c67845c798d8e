"""Ray that starts slowly; `tests/experience/test_actors.py` has what is played on it."""

import signal
from unittest.mock import Mock

import pytest

from retro_agents.ground.cluster import STARTS, patiently, ray_on
from retro_agents.ground.errors import UserError

SLOW = "Timed out waiting for file"


@pytest.mark.parametrize(
    ("failures", "message", "starts", "calls"),
    [
        *((failures, SLOW, STARTS, failures + 1) for failures in range(STARTS)),
        (STARTS, SLOW, STARTS, None),
        (STARTS, SLOW, 1, None),
        (1, "no such option", STARTS, 1),
    ],
)
def test_a_start_that_takes_too_long_is_repeated_as_often_as_asked(
    failures, message, starts, calls
):
    start = Mock(side_effect=[*[RuntimeError(message)] * failures, "started"])
    if calls == failures + 1:
        assert patiently(start, starts=starts) == "started"
    else:
        with pytest.raises(RuntimeError, match=message):
            patiently(start, starts=starts)
    assert start.call_count == (calls or starts)


def test_what_ray_makes_of_sigterm_is_undone():
    before = signal.getsignal(signal.SIGTERM)
    patiently(lambda: signal.signal(signal.SIGTERM, lambda *_: None))
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_temporary_folder_with_too_long_a_path_is_named(monkeypatch):
    ray = pytest.importorskip("ray")
    error = OSError("AF_UNIX path length cannot exceed 107 bytes: /long/sockets/plasma_store")
    monkeypatch.setattr(ray, "init", Mock(side_effect=error))
    with pytest.raises(UserError, match="give a shorter TMPDIR, such as /tmp"), ray_on("", cpus=1):
        pass
