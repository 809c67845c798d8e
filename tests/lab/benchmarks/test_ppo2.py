"""Facts about the rows, ratios and bound of lab.benchmarks.ppo2, on made-up measurements."""

import json
from argparse import Namespace
from pathlib import Path

import pytest

from lab.benchmarks import ppo2
from lab.benchmarks.ppo2 import ROWS, Cycles


def test_bound_is_that_of_the_parts_beside_the_whole() -> None:
    repeats = [{"parts-fp32-2": {"of_bound": part}} for part in (0.8, 0.9, 0.7)]
    rows = ppo2.table(repeats, Namespace())
    assert [row for row in rows if "ratio" in row] == [
        {"ratio": "ppo2-fp32-2/bound", "value": 0.8, "all": [0.8, 0.9, 0.7], "at_least": 0.85}
    ]


def test_fp32_is_to_be_1_7_times_stable_baselines3() -> None:
    aims = {(name, below): aim for name, _, below, aim in ppo2.RATIOS}
    name = "ppo2" if ppo2.SUFFIX else "ppo2_fp32"
    assert aims[name, "sb3_usual-"] == 1.7
    assert ppo2.SUFFIX or aims["ppo2", "sb3_usual-"] == 2.5


@pytest.mark.parametrize(
    ("file", "ratios", "row"),
    [
        ("ppo2_fp32", ["ppo2/sb3_usual"], "the same on a CPU without bf16, in fp32"),
        ("actors", ["simulated/run-0", "simulated/run-2"], "IMPALA's runs without actors"),
    ],
)
def test_readme_has_the_stored_ratios(file: str, ratios: list[str], row: str) -> None:
    folder = Path(ppo2.__file__).parent
    rows = json.loads((folder / f"results/{file}.json").read_text())["rows"]
    stored = {found["ratio"]: found["value"] for found in rows if "ratio" in found}
    (line,) = (x for x in (folder / "README.md").read_text().splitlines() if f"| {row}" in x)
    assert line.split("|")[2].strip() == ", ".join(f"{stored[name]:.2f}" for name in ratios)


def test_first_cycle_is_left_out() -> None:
    cycles = Cycles(seconds=0.0, pids=[])
    assert [cycles.mark() for _ in range(4)] == [False, False, False, True]
    cycles.marks = [(0.0, 0.0), (100.0, 10.0), (101.0, 11.0), (102.0, 14.0)]
    found = cycles.result()
    assert found["steps_per_second"] == pytest.approx(ROWS)
    assert found["cpu_ms_per_step"] == pytest.approx(4000.0 / (2 * ROWS))
