"""The rows that each benchmark makes of made-up measurements."""

from argparse import Namespace

import pytest

from lab.benchmarks import backends, lsh_memory, ppo2, rainbow, rllib

RAINBOW = {  # the parts of one setting: an update of 8 + 2 ms, all else 1 ms
    "replay": {"bytes_per_transition": 7100.0}
    | dict.fromkeys(("sample_and_update_ms", "sample_and_update_cpu_ms"), 2.0)
    | dict.fromkeys(("add_8_ms", "add_8_cpu_ms"), 1.0),
    "env": {"steps_per_second": 2000.0, "workers_cpu_ms": 5.0, "main_cpu_ms": 1.0},
    "learner-bf16-1": dict.fromkeys(("update_ms", "update_cpu_ms"), 8.0)
    | dict.fromkeys(("act_8_ms", "act_8_cpu_ms"), 1.0),
    "rainbow-bf16-1": {"steps_per_second": 200.0, "cpu_ms_per_step": 2.0},
    "qrdqn-1": {"steps_per_second": 50.0, "cpu_ms_per_step": 6.0},
    "qrdqn-2": {"steps_per_second": 100.0, "cpu_ms_per_step": 8.0},
}
SEARCH = {"recall_at_10": 0.9, "query_us": 100.0}
LARGEST = lsh_memory.SIZES[-1]


def speeds(**cases):
    """Case (its dashes underscores) -> steps per second and CPU time of a step."""
    names = ("steps_per_second", "cpu_ms_per_step")
    return {c.replace("_", "-"): dict(zip(names, v, strict=True)) for c, v in cases.items()}


def row_of(name, value, *, kind="ratio", **aim):
    return {kind: name, "value": value, "all": [value], **aim}


@pytest.mark.parametrize(
    ("module", "repeats", "rows"),
    [
        (
            rainbow,
            [RAINBOW],
            [
                {"case": "qrdqn-1", "steps_per_second": 50.0, "cpu_ms_per_step": 6.0},
                row_of("replay bytes_per_transition", 7100.0, kind="limit", at_most=7300.0),
                row_of("rainbow/qrdqn", 2.0, at_least=2.5),  # of the faster of both
            ],
        ),
        (
            ppo2,
            [{"parts-fp32-2": {"of_bound": part}} for part in (0.8, 0.9, 0.7)],
            [{**row_of("ppo2-fp32-2/bound", 0.8, at_least=0.85), "all": [0.8, 0.9, 0.7]}],
        ),
        (
            backends,
            [speeds(jerk_mutating_native=(900.0, 1.0), jerk_mutating_emulator=(300.0, 4.0))],
            [
                row_of("jerk-mutating-native/jerk-mutating-emulator", 3.0),
                row_of("jerk-mutating-emulator_cpu/jerk-mutating-native_cpu", 4.0),
            ],
        ),
        (
            rllib,
            [
                speeds(sac_1=(20.0, 40.0), sac_2=(30.0, 50.0))
                | {"rllib_sac-1": {"steps_per_second": 5.0, "cpu_ms_per_step": 160.0}}
                | {"rllib_sac-2": {"steps_per_second": 6.0, "cpu_ms_per_step": 200.0}}
            ],
            [row_of("sac/rllib_sac", 5.0, at_least=3.0), row_of("rllib_sac_cpu/sac_cpu", 4.0)],
        ),
        (
            lsh_memory,
            [{"scan-1000": SEARCH, f"scan-{LARGEST}": SEARCH | {"query_us": 120.0}}],
            [
                {"case": "scan", "added": 1000, **SEARCH},
                # At the largest size only.
                row_of("scan query_us", 120.0, kind="limit", at_most=150.0),
            ],
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_rows_hold_medians_ratios_and_limits_with_their_aims(module, repeats, rows):
    found = module.table(repeats, Namespace(cores=2))
    for row in rows:
        assert row in found
    names = [row.get("limit") for row in found if "limit" in row]
    assert "scan-merging insert_us" not in names  # which was not measured


def test_rainbows_bound_is_the_learners_own_time_where_cores_are_many_else_all_cpu_time():
    # 2 updates of 8 + 2 ms, act, add and the workers' messages: 23 ms for 8 agent steps.
    assert rainbow.bound(RAINBOW, "bf16-1", cores=2) == pytest.approx(8 / 0.023)
    assert rainbow.bound(RAINBOW, "bf16-1", cores=1) == pytest.approx(8 / 0.028)
