"""Facts about the rows, ratios and bound of benchmarks.ppo2, on made-up measurements."""

import pytest

from benchmarks import ppo2
from benchmarks.ppo2_parts import ROWS, Cycles


def row(rate: float, cpu: float = 1.0) -> ppo2.Row:
    return {"steps_per_second": rate, "cpu_ms_per_step": cpu}


def repeat(*, whole: float = 900.0) -> ppo2.Repeat:
    """Two cases of this project and two of a peer."""
    return {
        "ppo2-fp32-1": row(whole / 2, cpu=2.0),
        "ppo2-fp32-2": row(whole, cpu=3.0),
        "sb3-1": row(300.0, cpu=8.0),
        "sb3-2": row(200.0, cpu=9.0),
    }


def test_bound_is_that_of_the_parts_beside_the_whole() -> None:
    rows = ppo2.table(
        [{**repeat(), "parts-fp32-2": {"of_bound": part}} for part in (0.8, 0.9, 0.7)]
    )
    found = [row for row in rows if "/bound" in row.get("ratio", "")]
    assert found == [
        {"ratio": "ppo2-fp32-2/bound", "value": 0.8, "all": [0.8, 0.9, 0.7], "at_least": 0.85}
    ]


def test_quotient_takes_the_fastest_of_each() -> None:
    assert ppo2.quotient(repeat(), "ppo2-", "sb3-") == pytest.approx(3.0)
    assert ppo2.quotient(repeat(), "ppo2-", "sb3-", cpu=True) == pytest.approx(4.0)
    assert ppo2.quotient(repeat(), "ppo2-", "sb3_usual-") is None


def test_ratios_are_medians_of_ratios_within_repeats() -> None:
    rows = ppo2.table([repeat(), repeat(whole=600.0), repeat(whole=1500.0)])
    found = next(row for row in rows if row.get("ratio") == "ppo2/sb3")
    assert found == {"ratio": "ppo2/sb3", "value": 3.0, "all": [3.0, 2.0, 5.0]}


def test_every_case_has_a_command() -> None:
    here = [case for case in ppo2.CASES if case.split("-")[0] not in ppo2.PEERS]
    assert all(case in ppo2.command_of(case, 1.0) for case in here)
    assert "--usual" in ppo2.command_of("sb3_usual-2", 1.0)
    assert len(set(ppo2.CASES)) == len(ppo2.CASES)


def test_first_cycle_is_left_out() -> None:
    cycles = Cycles(seconds=0.0, pids=[])
    assert [cycles.mark() for _ in range(4)] == [False, False, False, True]
    cycles.marks = [(0.0, 0.0), (100.0, 10.0), (101.0, 11.0), (102.0, 14.0)]
    found = cycles.result()
    assert found["steps_per_second"] == pytest.approx(ROWS)
    assert found["cpu_ms_per_step"] == pytest.approx(4000.0 / (2 * ROWS))
