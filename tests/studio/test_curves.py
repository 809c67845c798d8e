"""What is drawn of runs."""

import json

import numpy as np
import pytest

from retro_agents.studio import curves
from retro_agents.studio.curves import POINTS, Tables, differences, drawn
from tests.studio.runs import LEVELS, make_run

DAMAGED = "metrics.csv is damaged:"


def draw(runs, column="metrics/entropy", **options):
    return drawn(Tables(), runs, column, **{"x": "steps", "window": 1, "seeds": False, **options})


def test_a_curve_has_a_columns_rows_over_steps_or_time(tmp_path):
    run = make_run(tmp_path / "one", rows=4, steps=400)
    (curve,) = draw({"one": run})
    assert (curve["x"], curve["y"]) == ([100, 200, 300, 400], [2, 4, 6, 1])
    with (run / "timing.csv").open("a") as file:
        file.write("500,1\n")  # resumed: the clock begins anew
    with (run / "metrics.csv").open("a") as file:
        file.write("500,0,3\n")
    assert draw({"one": run}, x="seconds")[0]["x"] == [1, 2, 3, 4, 5]


def test_a_curve_is_the_mean_of_a_window_of_rows(tmp_path):
    run = make_run(tmp_path / "one", rows=4, steps=400)  # whose entropy is 2, 4, 6, 1
    assert draw({"one": run}, window=3)[0]["y"] == pytest.approx([2, 3, 4, 11 / 3])


def test_a_long_curve_is_thinned_to_means(tmp_path):
    run = make_run(tmp_path / "one", rows=3 * POINTS, steps=30_000)
    (curve,) = draw({"one": run})
    steps = np.arange(20, 30_001, 20).reshape(POINTS, 3)  # whose entropy is the rest of a seventh
    np.testing.assert_allclose((curve["x"], curve["y"]), (steps.mean(1), (steps % 7).mean(1)))


def test_seeds_of_one_experiment_become_a_mean_with_an_interval(tmp_path):
    runs = {f"{seed}": make_run(tmp_path / f"{seed}", seed=seed) for seed in range(3)}
    for seed, run in enumerate(runs.values()):
        table = f"step,entropy\n100,{seed}\n{400 + seed},{2 * seed}\n"
        (run / "metrics.csv").write_text(table)
    runs["other"] = make_run(tmp_path / "other", rate=1.0)
    mean, other = draw(runs, seeds=True)
    assert (mean["label"], other["label"]) == ("0 and 2 more", "other")
    assert (mean["x"][0], mean["x"][-1], mean["y"][0]) == (100, 400, 1)
    half = 4.3027 / 3**0.5  # Student's t for 3 seeds whose standard deviation is 1
    assert (mean["low"][0], mean["high"][0]) == pytest.approx((1 - half, 1 + half), abs=1e-3)


def test_a_heat_map_has_mean_returns_of_each_level_in_time(tmp_path):
    heat = Tables().heat(make_run(tmp_path / "one", rows=40, steps=4_000))
    assert heat["levels"] == [*LEVELS]
    assert [row[:7] for row in heat["returns"]][1] == pytest.approx(
        [np.nan, 1100, np.nan, np.nan, np.nan, np.nan, 1100], nan_ok=True
    )


@pytest.mark.parametrize("rate", [3e-4, 1e-3])
def test_configs_show_the_fields_that_differ(tmp_path, rate):
    runs = {"a": make_run(tmp_path / "a"), "b": make_run(tmp_path / "b", seed=1, rate=rate)}
    names = [row["name"] for row in differences(runs)["rows"]]
    assert ("learning_rate" in names, "seed" in names) == (rate == 1e-3, True)


def test_a_damaged_config_hides_no_other(tmp_path):
    runs = {name: make_run(tmp_path / name) for name in "abc"}
    (runs["b"] / "config.json").write_text("{")
    found = differences(runs)
    assert found["errors"] == ["b: config.json is damaged: it is not whole JSON"]
    assert (found["runs"], found["rows"]) == (["a", "c"], [])


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("step,gain\n1,2\n", "has no loss"),
        ("step,loss\n1,2,3\n", f"{DAMAGED} its rows do not fit its header"),
        (f"step,loss\n1,{'9' * 140_000}\n", f"{DAMAGED} its rows do not fit its header"),
        ("step,loss,loss\n1,2,3\n", f"{DAMAGED} two of its columns have one name"),
        ("step,loss" + "9" * 140_000, f"{DAMAGED} its first line has no end"),
    ],
)
def test_a_run_without_the_column_says_so_beside_the_others(tmp_path, table, why):
    runs, tables = {name: make_run(tmp_path / name) for name in "ab"}, Tables()
    (runs["a"] / "metrics.csv").write_text(table)
    for _ in range(2):
        found = drawn(tables, runs, "metrics/loss", x="steps", window=1, seeds=False)
        assert [curve.get("error") for curve in found] == [why, None]


def test_a_long_text_is_cut_and_kept_once(tmp_path):
    run = make_run(tmp_path / "one")
    (run / "episodes.csv").write_text(f"step,level\n1,{'x' * 1_000}\n2,{'x' * 1_000}\n")
    one, other = Tables().of(run, "episodes").texts["level"]
    assert len(one) == 200 and one is other


def test_an_agent_is_watched_on_the_level_of_its_newest_episode(tmp_path):
    run = make_run(tmp_path / "one", rows=3)
    assert Tables().level(run) in LEVELS
    for levels, newest, wanted in (
        ("procgen:coinrun,bigfish", "bigfish:7", "procgen:bigfish"),
        ("procgen:coinrun,bigfish", "", "procgen:coinrun"),
        ("Procgen:CoinRun", "coinrun:7", "procgen:coinrun"),
        ("BrambleWood.Act2", "", "BrambleDash-Genesis-v0:BrambleWood.Act2"),
        ("gone.csv", "", ""),
    ):
        (run / "config.json").write_text(json.dumps({"timesteps": 9, "levels": levels}))
        (run / "episodes.csv").write_text(f"step,level,r\n9,{newest},1\n" if newest else "step\n")
        assert Tables().level(run) == wanted


def test_a_heat_map_has_zones_above_their_levels(tmp_path):
    run = make_run(tmp_path / "one")
    rows = [f"{step},{level},{r}" for step, level, r in
            [(100, "G:A.Act1", 1), (100, "G:A.Act2", 3), (4_000, "G:B.Act1", 5)]]  # fmt: skip
    (run / "episodes.csv").write_text("\n".join(["step,level,r", *rows, ""]))
    heat = Tables().heat(run)
    assert heat["levels"] == ["A", "B", "G:A.Act1", "G:A.Act2", "G:B.Act1"]
    assert [(row[0], row[-1]) for row in heat["returns"]][:2] == [
        pytest.approx((2, np.nan), nan_ok=True),
        pytest.approx((np.nan, 5), nan_ok=True),
    ]


def test_only_the_newest_tables_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(curves, "MOST_TABLES", 2)
    tables = Tables()
    for name in "ab":
        tables.columns(make_run(tmp_path / name))
    assert tables._table.cache_info().currsize == 2
