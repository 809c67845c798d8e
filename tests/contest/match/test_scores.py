from functools import partial

import pytest

from retro_agents.contest.match.scores import as_json, markdown, read_scores
from retro_agents.ground.errors import UserError
from tests.contest.made_up import write_job

write = partial(write_job, game="Game")


def test_overall_score_is_the_mean_over_levels_of_each_seed(tmp_path):
    for seed, (one, two) in enumerate([(100.0, 300.0), (200.0, 600.0), (0.0, 500.0)]):
        write(tmp_path, "A", seed, one)
        write(tmp_path, "B", seed, two)
    found = read_scores(tmp_path)
    assert found.overall.by_seed == {0: 200.0, 1: 400.0, 2: 250.0}
    assert found.overall.mean == pytest.approx(850 / 3)
    expected = (283.333 - 258.557, 283.333 + 258.557)
    assert found.overall.interval == pytest.approx(expected, abs=0.01)
    assert [(row.level, row.mean) for row in found.levels] == [
        ("Game:A", 100.0),
        ("Game:B", pytest.approx(1400 / 3)),
    ]
    text = markdown(found, title="T")
    assert "| **all levels** | **283** |" in text
    assert "| A | 100 |" in text and "Student's t over 3 seeds" in text


def test_no_interval_goes_beyond_what_a_level_pays(tmp_path):
    write(tmp_path, "A", 0, 1000.0)
    write(tmp_path, "A", 1, 9000.0)
    found = as_json(read_scores(tmp_path))
    assert [(row["low"], row["high"]) for row in found["levels"]] == [(0.0, 10_000.0)]


def test_one_seed_has_no_interval_and_says_so(tmp_path):
    write(tmp_path, "A", 4, 100.0)
    found = read_scores(tmp_path)
    assert found.overall.interval is None
    assert as_json(found)["overall"]["low"] is None
    assert "- One seed (4): no interval over seeds." in markdown(found, title="T")


def test_level_that_a_seed_lacks_is_named_and_its_seed_left_out(tmp_path):
    write(tmp_path, "A", 0, 100.0)
    write(tmp_path, "B", 0, 200.0)
    write(tmp_path, "A", 1, 900.0)
    found = read_scores(tmp_path)
    assert found.overall.by_seed == {0: 150.0}
    assert "- B, seed 1: not played." in markdown(found, title="T")


def test_states_of_the_same_name_are_told_apart_by_their_games(tmp_path):
    write(tmp_path, "A", 0, 100.0)
    write(tmp_path, "A", 0, 300.0, game="Other", status="crashed")
    write(tmp_path, "B", 0, 800.0)
    found = read_scores(tmp_path, planned=[("Other:B", 0)])
    assert found.overall.mean == 400.0
    text = markdown(found, title="T")
    for line in ("| Game:A | 100 |", "| Other:A | 300 |", "| Game:B | 800 |"):
        assert line in text
    assert "- Other:A, seed 0: the agent crashed" in text
    assert "- Other:B, seed 0: not played." in text


def test_level_without_a_step_scores_nothing_and_a_crash_is_named(tmp_path):
    write(tmp_path, "A", 0, None, status="crashed", best_return=None, steps=0)
    write(tmp_path, "B", 0, 50.0, status=None)
    write(tmp_path, "C", 0, None, status=None, best_return=None, steps=0)  # not begun to play
    found = read_scores(tmp_path)
    assert found.overall.mean == 25.0
    text = markdown(found, title="T")
    assert "A, seed 0: the agent crashed" in text
    assert "B, seed 0: not over: still playing" in text
    assert not any("C" in row.level for row in found.levels)


def test_run_that_ended_early_is_named_with_the_reason(tmp_path):
    limits = {"timesteps": 50}
    write(tmp_path, "A", 0, 100.0, limits=limits, ended="TimestepTimeoutError: all 50 are played")
    left = {"steps": 20, "ended": "ClientDisconnectError: the client closed"}
    write(tmp_path, "B", 0, 900.0, limits=limits, **left)
    found = read_scores(tmp_path)
    assert found.shortfall == "1 of 2 runs did not play all their steps"
    text = markdown(found, title="T")
    assert "- B, seed 0: the run ended early (the client closed), so its" in text
    assert "- A, seed 0" not in text


def test_without_a_whole_seed_the_mean_is_over_levels_and_no_seed_has_it(tmp_path):
    write(tmp_path, "A", 0, 4000.0)
    write(tmp_path, "B", 1, 1000.0)
    found = read_scores(tmp_path)
    assert found.overall.mean == 2500.0 and found.overall.by_seed == {}
    assert as_json(found)["overall"]["mean"] == 2500.0
    text = markdown(found, title="T")
    assert "| **all levels** | **2,500** | **–** | **–** | **–** |" in text
    assert "- No interval over seeds: only 0 of 2 played all levels." in text


def test_set_aside_attempts_and_other_folders_do_not_count(tmp_path):
    write(tmp_path, "A", 0, 100.0)
    aside = tmp_path / "Game-A" / "seed-0.interrupted-1"
    aside.mkdir()
    (aside / "result.json").write_text("{}")
    assert len(read_scores(tmp_path).played) == 1
    with pytest.raises(UserError, match="holds no results"):
        read_scores(aside)


@pytest.mark.parametrize("field", ["level", "status"])
def test_a_damaged_result_is_named(tmp_path, field):
    write(tmp_path, "A", 0, 1.0)
    (path,) = tmp_path.glob("*/*/result.json")
    text = path.read_text().replace(f'"{field}"', f'"{field}": "?", "_"')
    path.write_text("{}" if field == "level" else text)
    with pytest.raises(UserError, match=r"result\.json is damaged .*: move it away"):
        read_scores(tmp_path)
