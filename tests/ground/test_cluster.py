"""Ray that starts slowly; `tests/experience/test_actors.py` has what is played on it."""

import signal

import pytest

from retro_agents.ground.cluster import STARTS, patiently, ray_on
from retro_agents.ground.errors import UserError


@pytest.mark.parametrize(
    ("failures", "message", "starts", "calls"),
    [
        *(
            (failures, "Timed out waiting for file", STARTS, failures + 1)
            for failures in range(STARTS)
        ),
        (STARTS, "Timed out waiting for file", STARTS, None),
        (STARTS, "Timed out waiting for file", 1, None),
        (1, "no such option", STARTS, 1),
    ],
)
def test_a_start_that_takes_too_long_is_repeated_as_often_as_asked(
    failures, message, starts, calls
):
    tried = []

    def start():
        tried.append(None)
        if len(tried) <= failures:
            raise RuntimeError(message)
        return "started"

    if calls == failures + 1:
        assert patiently(start, starts=starts) == "started"
    else:
        with pytest.raises(RuntimeError, match=message):
            patiently(start, starts=starts)
    assert len(tried) == (calls or starts)


def test_what_ray_makes_of_sigterm_is_undone():
    before = signal.getsignal(signal.SIGTERM)
    patiently(lambda: signal.signal(signal.SIGTERM, lambda *_: None))
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_temporary_folder_with_too_long_a_path_is_named(monkeypatch):
    ray = pytest.importorskip("ray")

    def init(*_, **__):
        raise OSError("AF_UNIX path length cannot exceed 107 bytes: /long/sockets/plasma_store")

    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(UserError, match="give a shorter TMPDIR, such as /tmp"), ray_on("", cpus=1):
        pass
