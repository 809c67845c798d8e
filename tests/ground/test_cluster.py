"""Ray that starts slowly; `tests/experience/test_actors.py` has what is played on it."""

import pytest

from retro_agents.ground.cluster import STARTS, patiently


def starts_after(failures, message="Timed out waiting for file"):
    """A start that fails so often, and the list of its calls."""
    calls: list[int] = []

    def start():
        calls.append(len(calls))
        if len(calls) <= failures:
            raise RuntimeError(message)
        return "started"

    return start, calls


@pytest.mark.parametrize("failures", range(STARTS))
def test_a_start_that_takes_too_long_is_repeated(failures):
    start, calls = starts_after(failures)
    assert patiently(start) == "started" and len(calls) == failures + 1


@pytest.mark.parametrize("starts", [1, STARTS])
def test_no_more_often_than_asked(starts):
    start, calls = starts_after(STARTS)
    with pytest.raises(RuntimeError):
        patiently(start, starts=starts)
    assert len(calls) == starts


def test_another_error_is_not_waited_out():
    start, calls = starts_after(1, "no such option")
    with pytest.raises(RuntimeError, match="no such option"):
        patiently(start)
    assert len(calls) == 1
