"""Facts about the rows, ratios and bound of lab.benchmarks.rainbow, on made-up measurements."""

import re
from argparse import Namespace

import pytest

from lab.benchmarks import rainbow
from lab.benchmarks.peers.environments import requirements
from lab.benchmarks.peers.stopwatch import Stopwatch
from retro_agents.ground.results import ROOT


def repeat(*, whole: float = 200.0, peer: float = 50.0) -> rainbow.Repeat:
    """Parts of one setting: an update of 8 + 2 ms, all else 1 ms."""
    return {
        "replay": {
            "sample_and_update_ms": 2.0,
            "sample_and_update_cpu_ms": 2.0,
            "add_8_ms": 1.0,
            "add_8_cpu_ms": 1.0,
            "bytes_per_transition": 7100.0,
        },
        "env": {"steps_per_second": 2000.0, "workers_cpu_ms": 5.0, "main_cpu_ms": 1.0},
        "learner-bf16-1": {
            "update_ms": 8.0,
            "update_cpu_ms": 8.0,
            "act_8_ms": 1.0,
            "act_8_cpu_ms": 1.0,
        },
        "rainbow-bf16-1": {"steps_per_second": whole},
        "qrdqn-1": {"steps_per_second": peer},
        "qrdqn-2": {"steps_per_second": 2 * peer},
    }


def test_bound_is_the_learners_own_time_where_cores_are_many() -> None:
    # 2 updates of 8 + 2 ms, act, add and the workers' messages: 23 ms for 8 agent steps.
    assert rainbow.bound(repeat(), "bf16-1", cores=2) == pytest.approx(8 / 0.023)


def test_bound_is_all_cpu_time_on_one_core() -> None:
    assert rainbow.bound(repeat(), "bf16-1", cores=1) == pytest.approx(8 / 0.028)


def test_rows_hold_medians_and_limits_their_aims() -> None:
    rows = rainbow.table([repeat()], Namespace(cores=2))
    assert {"case": "qrdqn-2", "steps_per_second": 100.0} in rows
    limit = {"limit": "replay bytes_per_transition", "value": 7100.0, "all": [7100.0]}
    assert {**limit, "at_most": 7300.0} in rows
    ratio = {"ratio": "rainbow/qrdqn", "value": 2.0, "all": [2.0], "at_least": 2.5}
    assert ratio in rows  # of the faster of both


def test_stopwatch_starts_after_the_warm_up() -> None:
    stopwatch = Stopwatch(seconds=0.0, warm_up=24)
    assert [stopwatch.tick(8) for _ in range(4)] == [False, False, False, True]
    assert stopwatch.began == 24
    assert set(stopwatch.result()) == {"steps_per_second", "cpu_ms_per_step"}


@pytest.mark.parametrize("name", sorted({peer[0] for peer in rainbow.PEERS.values()} - {""}))
def test_peers_share_what_the_comparison_rests_on(name: str) -> None:
    def pins(text: str) -> set[str]:
        return set(re.findall(r"^\S+==\S+$", text, flags=re.MULTILINE))

    ours = pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    theirs = pins(requirements(name).read_text(encoding="utf-8"))
    shared = ("torch", "numpy", "stable-retro", "gymnasium", "opencv-python-headless", "numba")
    shared += ("docstring_parser", "msgspec", "PyYAML")  # of the environment's settings
    for package in shared:
        both = {pin for pin in ours & theirs if pin.startswith(f"{package}==")}
        assert both, f"{package} in {name}.txt differs from constraints.txt"
