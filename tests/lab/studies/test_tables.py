"""docs/results is what the stored results give."""

import json

import pytest

from lab.studies import tables
from lab.studies.report import as_runs, seeds_span
from retro_agents.games.retro.integrations import rom_hash
from retro_agents.ground import statistics
from retro_agents.ground.results import ROOT, read_result
from retro_agents.judging.tables import number


def test_stored_tables_are_those_of_the_stored_results():
    stored = {path.name: path.read_text(encoding="utf-8") for path in tables.OUT.glob("*.md")}
    index = stored.pop("README.md")
    assert stored == tables.pages(), "run `python -m lab.studies tables`"
    assert not [name for name in stored if f"({name})" not in index], "name it in README.md"


def test_a_page_says_where_each_kind_comes_from():
    stored = read_result(ROOT / "lab" / "studies" / "results" / "sight.json")
    first, second, *_ = stored["kinds"]
    machine = stored["machine"] | {"cores": 96}
    for kind in stored["kinds"].values():
        kind.pop("origin", None)
    for kind in (first, second):
        stored["kinds"][kind]["origin"] = {"command": "x", "commit": "y", "machine": machine}
    before = [
        one for one in tables.study_page("sight", stored).splitlines() if "From before" in one
    ]
    assert len(before) == 1
    assert before[0].startswith(f"From before, {first}, {second}: `x` at commit y; 96 cores")


def test_only_results_of_another_rom_or_other_weights_are_marked():
    here, other = ({"made": [{"roms": {tables.GAME: rom}}]} for rom in (rom_hash(tables.GAME), "f"))
    assert tables.notes("rainbow", [here]) == []
    assert tables.notes("rainbow", [here, other]) == [tables.NOTES["second"]]
    assert tables.notes("jerk-fresh", [here]) == [tables.NOTES["former"]]


def test_rows_of_one_sort_share_a_table_and_many_numbers_stand_below_each_other():
    rows = json.loads(
        '[{"case": "a", "ms": 0.5}, {"case": "b", "ms": 1500.25},'
        '{"ratio": "a/b", "value": 0.333333, "all": [0.3, 0.4], "at_least": 2.5},'
        '{"ratio": "b/a", "value": 3.0, "all": [3.0]}]'
    )
    wide = {"case": "parts", **{f"call_{i}_ms": float(i) for i in range(9)}}
    cases, ratios, parts = tables.row_tables([*rows, wide])
    assert cases.splitlines()[2:] == ["| a | 0.5 |", "| b | 1,500 |"]
    assert ratios.splitlines()[0] == "| ratio | value | all | aim: at least |"
    assert ratios.splitlines()[2:] == ["| a/b | 0.333 | 0.3, 0.4 | 2.5 |", "| b/a | 3 | 3 |  |"]
    assert parts.splitlines()[0] == "| case | parts |" and "| call 3 ms | 3 |" in parts


JERK, PPO2 = "docs/agents/jerk.md", "docs/agents/ppo2.md"
FOUR = ("baseline", "mutating", "recovering", "hybrid")


@pytest.mark.parametrize(
    ("page", "row", "study", "groups", "names"),
    [
        ("README.md", "JERK, a search", "jerk-search", ("50k", "200k", "1M"), ("baseline",)),
        ("README.md", "JERK that", "jerk-search", ("50k", "200k", "1M"), ("recovering",)),
        ("README.md", "the same, but", "jerk-search", ("50k", "200k", "1M"), ("hybrid",)),
        ("README.md", "PPO2 from random", "ppo2", ("adapt", "adapt-200k"), ("shipped-scratch",)),
        ("README.md", "PPO2 from `", "ppo2", ("adapt", "adapt-200k", "adapt-1M"), ("imitation",)),
        (
            "README.md",
            "the same, and where",
            "ppo2",
            ("adapt", "adapt-200k", "adapt-1M"),
            ("detours",),
        ),
        ("README.md", "Rainbow (", "transfer", ("held-out",), ("pretrained",)),
        (JERK, "50,000 | 5", "jerk-search", ("50k",), FOUR),
        (JERK, "200,000 | 5", "jerk-search", ("200k",), FOUR),
        (JERK, "1,000,000 | 3", "jerk-search", ("1M",), FOUR),
        (PPO2, "50,000 |", "ppo2", ("adapt",), ("shipped", "shipped-scratch")),
        (PPO2, "200,000 |", "ppo2", ("adapt-200k",), ("shipped", "shipped-scratch")),
        (PPO2, "50,000, with self", "ppo2", ("adapt",), ("imitation",)),
        (PPO2, "200,000, with self", "ppo2", ("adapt-200k",), ("imitation",)),
        (PPO2, "50,000, with detours", "ppo2", ("adapt",), ("detours",)),
        (PPO2, "200,000, with detours", "ppo2", ("adapt-200k",), ("detours",)),
        (PPO2, "1,000,000, with detours", "ppo2", ("adapt-1M",), ("detours",)),
        (PPO2, "1,000,000 |", "ppo2", ("adapt-1M",), ("shipped",)),
        (PPO2, "1,000,000, with self", "ppo2", ("adapt-1M",), ("imitation",)),
    ],
)
def test_scores_in_tables_written_by_hand_are_the_stored_ones(page, row, study, groups, names):
    kinds = [f"{group}/{name}" for group in groups for name in names]
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    (line,) = (line for line in lines if line.startswith(f"| {row}"))
    cells = line.replace("*", "").removeprefix(f"| {row}").split("|")
    shown = [cell.partition(";")[0].strip() for cell in cells]
    shown = [cell for cell in shown if cell[:1].isdigit()]
    results = read_result(ROOT / "lab/studies/results" / f"{study}.json")["kinds"]
    assert len(shown) >= len(kinds)
    for cell, kind in zip(shown, kinds, strict=False):
        runs = as_runs(results[kind]["runs"])
        mean = number(statistics.mean(runs))
        assert cell in (mean, f"{mean} ({seeds_span(runs)})"), kind
