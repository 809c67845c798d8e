"""Ray that starts slowly; `tests/experience/test_actors.py` has what is played on it."""

import signal

import pytest

from retro_agents.ground.cluster import STARTS, own_sigterm, patiently


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
    with own_sigterm():
        signal.signal(signal.SIGTERM, lambda *_: None)
    assert signal.getsignal(signal.SIGTERM) is before
