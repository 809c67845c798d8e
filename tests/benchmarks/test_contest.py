from benchmarks.contest import KINDS, LEVELS_AT_A_TIME, table


def test_ratios_are_taken_within_a_repeat() -> None:
    """Each repeat has a load of its own: the ratio of medians would mix them."""
    cases = [f"{kind}_{k}" for k in LEVELS_AT_A_TIME for kind in KINDS]
    cases += [f"cpu_us_{kind}" for kind in KINDS]
    repeats = [
        {**dict.fromkeys(cases, 100.0), "local_1": local, "remote_1": remote}
        for local, remote in ((100.0, 90.0), (1000.0, 800.0), (10.0, 9.5))
    ]
    rows = {row.get("case") or row["ratio"]: row for row in table(repeats)}
    assert rows["remote_1/local_1"]["all"] == [0.9, 0.8, 0.95]
    assert rows["remote_1/local_1"]["value"] == 0.9
    assert rows["local_1"]["steps_per_second"] == 100.0
    assert rows["cpu_us_local"]["microseconds"] == 100.0
