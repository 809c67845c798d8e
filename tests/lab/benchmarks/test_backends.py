"""Facts about the clock and the rows of lab.benchmarks.backends."""

from argparse import Namespace
from itertools import count

import pytest

from lab.benchmarks import backends
from lab.benchmarks.backends import BLOCK, WARM_UP, Clock
from lab.benchmarks.parts import TimeOver


def test_clock_runs_from_the_warm_up_to_the_end_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    now = count()
    monkeypatch.setattr(backends.time, "perf_counter", lambda: float(next(now)))
    clock = Clock(seconds=4.0, workers=[])
    work = clock.timed("acting", lambda: None)
    work()
    clock.count(WARM_UP)  # at 2
    work()  # a second
    clock.count(BLOCK // 2)
    clock.count(BLOCK // 2)  # at 5
    with pytest.raises(TimeOver):
        clock.count(BLOCK)  # at 6
    row = clock.result()
    assert row["steps_per_second"] == pytest.approx(2 * BLOCK / 4)
    assert row["acting_share"] == pytest.approx(1 / 4)
    assert row["rest_share"] == pytest.approx(3 / 4)


def test_ratios_are_native_over_emulator() -> None:
    repeat = {
        "jerk-mutating-native": {"steps_per_second": 900.0, "cpu_ms_per_step": 1.0},
        "jerk-mutating-emulator": {"steps_per_second": 300.0, "cpu_ms_per_step": 4.0},
    }
    found = {row["ratio"]: row["value"] for row in backends.table([repeat], Namespace())[2:]}
    assert found == {
        "jerk-mutating-native/jerk-mutating-emulator": 3.0,
        "jerk-mutating-emulator_cpu/jerk-mutating-native_cpu": 4.0,
    }


SLOW = ("ppo2-fast", "rainbow-laptop")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in backends.RUNS]
)
def test_every_part_of_a_run_has_a_share(name: str) -> None:
    agent, preset, flags = backends.RUNS[name]
    row = backends.whole(agent, preset, seconds=0.001, **flags)
    shares = [row[f"{part}_share"] for part in ("acting", "environment", "learning", "rest")]
    assert min(shares) > 0.0
    assert sum(shares) == pytest.approx(1.0)
