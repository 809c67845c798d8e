import json
from pathlib import Path
from typing import Any

import pytest

from contest.record import Record, run_facts
from experiment.errors import UserError
from retro_env import parse_levels


def result(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return found


def episode(record: Record, *rewards: float, terminated: bool = True) -> None:
    record.reset()
    for reward in rewards[:-1]:
        record.step(reward, terminated=False, truncated=False)
    record.step(rewards[-1], terminated=terminated, truncated=not terminated)


def test_score_is_the_mean_of_all_episodes_the_unfinished_one_too(tmp_path: Path) -> None:
    record = Record(tmp_path, facts={"level": "toy"})
    episode(record, 1.0, 2.0)
    episode(record, -4.0)
    record.reset()
    record.step(10.0, terminated=False, truncated=False)
    record.finish("limit")
    lines = (tmp_path / "monitor.csv").read_text().splitlines()
    assert lines[0] == "r,l,t"
    assert [line.split(",")[:2] for line in lines[1:]] == [
        ["3.0", "2"],
        ["-4.0", "1"],
        ["10.0", "1"],
    ]
    found = result(tmp_path)
    assert found["mean_return"] == 3.0
    assert (found["best_return"], found["episodes"], found["steps"]) == (10.0, 3, 4)
    assert (found["level"], found["ended"]) == ("toy", "limit")


def test_episode_is_in_both_files_as_soon_as_it_ends(tmp_path: Path) -> None:
    record = Record(tmp_path, facts={})
    assert result(tmp_path)["mean_return"] is None
    episode(record, 5.0)
    assert len((tmp_path / "monitor.csv").read_text().splitlines()) == 2
    assert (result(tmp_path)["mean_return"], result(tmp_path)["ended"]) == (5.0, None)
    record.finish("")


def test_log_has_a_row_every_thousand_steps(tmp_path: Path) -> None:
    record = Record(tmp_path, facts={})
    episode(record, *[0.5] * 2500)
    record.finish("")
    lines = (tmp_path / "log.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["l", "1000", "2000"]


def test_running_episode_is_in_the_result_every_thousand_steps(tmp_path: Path) -> None:
    record = Record(tmp_path, facts={})
    record.reset()
    for _ in range(1000):
        record.step(0.5, terminated=False, truncated=False)
    assert (result(tmp_path)["mean_return"], result(tmp_path)["steps"]) == (500.0, 1000)
    assert len((tmp_path / "monitor.csv").read_text().splitlines()) == 1
    record.finish("")


def test_finished_means_that_the_level_was_ended_by_reaching_its_end(tmp_path: Path) -> None:
    record = Record(tmp_path, facts={})
    episode(record, 9000.0 - 1e-3, 500.0)
    episode(record, 8000.0)
    episode(record, 9500.0, terminated=False)
    record.finish("")
    assert result(tmp_path)["finished"] == 1


def test_records_are_never_overwritten(tmp_path: Path) -> None:
    Record(tmp_path, facts={}).finish("")
    with pytest.raises(UserError, match="not overwritten"):
        Record(tmp_path, facts={})


def test_facts_name_level_seed_versions_and_rom(tmp_path: Path) -> None:
    level = parse_levels("bramble-test")[0]
    facts = run_facts(level, seed=3)
    rom = Path("cartridge/integration") / level.game / "rom.sha"
    assert facts["rom_sha1"] == rom.read_text().split()[0]
    assert (facts["level"], facts["seed"]) == (str(level), 3)
    assert {"python", "stable-retro"} <= set(facts["versions"])
