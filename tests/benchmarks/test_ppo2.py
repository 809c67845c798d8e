"""Facts about the rows, ratios and bound of benchmarks.ppo2, on made-up measurements."""

from argparse import Namespace

import pytest

from benchmarks import ppo2
from benchmarks.ppo2 import ROWS, Cycles


def test_bound_is_that_of_the_parts_beside_the_whole() -> None:
    repeats = [{"parts-fp32-2": {"of_bound": part}} for part in (0.8, 0.9, 0.7)]
    rows = ppo2.table(repeats, Namespace())
    assert [row for row in rows if "ratio" in row] == [
        {"ratio": "ppo2-fp32-2/bound", "value": 0.8, "all": [0.8, 0.9, 0.7], "at_least": 0.85}
    ]


def test_first_cycle_is_left_out() -> None:
    cycles = Cycles(seconds=0.0, pids=[])
    assert [cycles.mark() for _ in range(4)] == [False, False, False, True]
    cycles.marks = [(0.0, 0.0), (100.0, 10.0), (101.0, 11.0), (102.0, 14.0)]
    found = cycles.result()
    assert found["steps_per_second"] == pytest.approx(ROWS)
    assert found["cpu_ms_per_step"] == pytest.approx(4000.0 / (2 * ROWS))
