"""Results hold every run once, and their tables compare like with like."""

from lab.studies.report import collect, page
from retro_agents.ground.results import store
from retro_agents.judging.tables import records, table
from tests.sweeps.studies import GAME, STUDY

RUNS = {"a": {"0": 1000.0, "1": 3000.0, "2": 5000.0}, "b": {"0": 4000.0, "1": 4000.0, "2": 7000.0}}
LESS = {"a": {"0": 0.0, "1": 2000.0}, "b": {"0": 3000.0, "1": 5000.0}}


def result(**kinds):
    named = {name.replace("_", "/"): kind for name, kind in kinds.items()}
    return {"kinds": named, "compare": [["g/one", "g/two"]]}


def rows(text):
    """First cell -> the others."""
    cells = [
        [c.strip() for c in line.strip("|").split("|")] for line in text.splitlines() if "|" in line
    ]
    return {first: others for first, *others in cells}


def test_a_row_has_mean_interval_middle_profile_and_counts():
    text = page(result(g_one={"runs": RUNS, "best": 7777.0, "episodes": 9, "finished": 2}))
    assert text.startswith("## g\n")
    mean, over_seeds, middle, _, above, *_, best, episodes, finished, runs = rows(text)["one"]
    # Seeds 2,500, 3,500 and 6,000: t(2) = 4.3027 times 1,802.8 / sqrt(3), and 0 or more.
    assert (mean, over_seeds) == ("4,000", "0 – 8,478")
    assert middle == "4,000"  # 3, 4, 4 and 5 thousand
    assert (above, best, episodes, finished, runs) == ("83 %", "7,777", "9", "2", "2 × 3")


def test_difference_is_over_levels_that_both_have_and_all_their_seeds():
    found = rows(page(result(g_one={"runs": RUNS}, g_two={"runs": LESS})))
    assert found["one − two"][0] == "+1,500"  # of the means in the table: 4,000 less 2,500
    assert found["one − two"][2] == "0.75"  # 5 of 6 on a, 4 of 6 on b
    assert found["a"] == ["3,000", "1,000"]


def test_what_is_not_known_is_left_out():
    text = page(result(g_one={"runs": {"a": {"0": 5.5}}}))
    assert "95 %" not in text and "best" not in text and "nan" not in text
    assert page({"kinds": {}, "compare": []}) == "Nothing is complete yet."


def test_last_tenths_and_curves_have_columns():
    last = [{"entropy": 1.25, "return": 900.0}, {"entropy": 1.75, "return": 1100.0}]
    curve = [{"step": [1, 2], "current": [5.0, 6.0]}]
    text = page(result(g_one={"runs": RUNS, "last": last}, g_two={"runs": RUNS, "curve": curve}))
    assert "| entropy, last tenth | return, last tenth |" in text
    assert rows(text)["one"][7:9] == ["1.5", "1,000"]
    assert rows(text)["current, run 1"] == ["5", "6"]
    text = page(
        result(g_one={"runs": RUNS, "last": last}, g_two={"runs": RUNS, "last": [{"a": 2.0}]})
    )
    assert [rows(text)[name][7:10] for name in ("one", "two")] == [
        ["1.5", "1,000", ""],
        ["", "", "2"],
    ]


def test_sight_has_columns_where_it_is_known():
    low = {level: {s: r / 100 for s, r in seeds.items()} for level, seeds in RUNS.items()}
    high = {level: {s: r + 100_000 for s, r in seeds.items()} for level, seeds in RUNS.items()}
    alike = {"runs": high, "sight": {"shuffled": high, "blind": low}}
    text = page(
        result(
            g_sees={"runs": high, "sight": {"shuffled": RUNS, "blind": low}},
            g_alike=alike,
            g_once={"runs": {"a": {"0": 1.5}}, "sight": {"shuffled": {"a": {"0": 2.5}},
                                                         "blind": {"a": {"0": 3.5}}}},
            g_unknown={"runs": RUNS},
        )
    )  # fmt: skip
    head = ["shuffled", "seeing − shuffled, 95 %", "blind", "seeing − blind, 95 %", "sees"]
    assert f"| {' | '.join(head)} |" in text
    found = {name: cells[7:12] for name, cells in rows(text).items()}
    # Deviation of the seeds' means: 1,802.8; Welch's t(4) = 2.7764 times that times sqrt(2 / 3).
    assert found["sees"][:2] == ["4,000", "95,913 – 104,087"] and found["sees"][4] == "yes"
    assert found["alike"][:2] == ["104,000", "−4,087 – 4,087"] and found["alike"][4] == "not shown"
    assert found["once"] == ["2.5", "", "3.5", "", ""]
    assert found["unknown"] == [""] * 5
    assert "shuffled" not in page(result(g_one={"runs": RUNS}))


def test_losses_are_parts_of_the_points_that_are_lost():
    lost = [
        {"undiscovered": 4000.0, "replaying": 500.0},
        {"undiscovered": 2000.0, "replaying": 1500.0},
    ]
    grown = [[None, 1000.0, 2000.0], [500.0, 2000.0, 4000.0]]
    text = page(result(g_one={"runs": RUNS, "lost": lost, "grown": grown}, g_two={"runs": LESS}))
    assert "| one | 4,000 | 75 % | 25 % |" in text
    assert "| score so far after | 20 % | 30 % |" in text and "| one | 1,500 | 3,000 |" in text


def test_table_aligns_and_drops_empty_columns():
    assert table(["", "x", "y"], [["a", "1", ""], ["b", "2", ""]]).splitlines() == [
        "|  | x |", "| --- | ---: |", "| a | 1 |", "| b | 2 |",
    ]  # fmt: skip
    assert records([{"": "a", "x": "1", "y": ""}, {"": "b"}]).splitlines()[2:] == [
        "| a | 1 |", "| b |  |",
    ]  # fmt: skip
    assert records([]) == ""


def test_result_has_the_kinds_that_were_run_in_the_studys_order(tmp_path):
    record = {"best": 5.0, "episodes": 2, "finished": 0, "steps": 10}
    for kind in ("group/plain", "before"):
        for number, cell in enumerate(STUDY.cells(kind)):
            levels = dict.fromkeys(cell.level.replace(f"{GAME}:", "").split(","), float(number))
            made = {"made": STUDY.made_with(cell), "levels": levels}
            store(tmp_path / f"{cell.name}.json", {**record, **made})
    kinds = collect(STUDY, tmp_path)
    assert list(kinds) == ["before", "group/plain"]
    assert kinds["group/plain"]["episodes"] == 8 and kinds["before"]["best"] == 5.0
    assert kinds["before"]["runs"] == {"RustCavern.Act2": {"0": 0.0}, "SkyIsles.Act2": {"0": 0.0}}
    assert kinds["group/plain"]["runs"]["SkyIsles.Act2"] == {"0": 1.0, "1": 3.0}
