"""What is stored of a run on Procgen, and what its page says."""

import json

import pytest

from lab.studies.entry import main, rows
from lab.studies.procgen_pages import entry_row
from retro_agents.ground.errors import UserError


def run_folder(folder, *, levels="procgen:coinrun", last=1000):
    """A run of 1,000 steps whose episodes ended at 100, 950 and `last`."""
    folder.mkdir()
    config = {"run": {"levels": levels, "seed": 3}, "env": {"distribution_mode": "easy"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "metrics.csv").write_text("step,loss\n500,1.0\n1000,1.0\n")
    episodes = (
        f"step,level,r\n100,coinrun:1,10.0\n{last - 50},coinrun:2,4.0\n{last},coinrun:3,6.0\n"
    )
    (folder / "episodes.csv").write_text(episodes)
    return folder


def evaluate(folder, name, returns, *, steps=1000, sight=None):
    """An evaluation, as `retro_agents.judging.procgen` writes it."""
    own = {"mean": sum(returns) / len(returns), "returns": returns}
    if sight:
        own["sight"] = {play: {"mean": mean} for play, mean in sight.items()}
    result = {"agent": "ppo2", "env_steps": steps, "test_levels": {"count": 0}}
    result |= {"sets": {"test": {"coinrun": own}}, "sight": bool(sight)}
    (folder / "evaluations" / name).mkdir(parents=True)
    (folder / "evaluations" / name / "result.json").write_text(json.dumps(result))


def test_a_run_is_judged_by_the_last_tenth_of_its_steps(tmp_path):
    (row,) = rows("PPO2", run_folder(tmp_path / "run"))
    assert row == {
        "label": "PPO2",
        "game": "coinrun",
        "seed": 3,
        "env_steps": 1000,
        "learning": 5.0,
        "learning_error": pytest.approx(1.0),
    }


def test_of_the_newest_evaluations_that_of_sight_counts_then_that_of_most_episodes(tmp_path):
    run = run_folder(tmp_path / "run")
    evaluate(run, "step-500-trained-test-sight", [9.0, 9.0], steps=500, sight={"blind": 9.0})
    evaluate(run, "step-1000-trained-test", [8.0] * 4)
    (row,) = rows("PPO2", run)
    assert (row["frozen"], row["episodes"]) == (8.0, 4) and "blind" not in row
    sight = {"shuffled": 2.0, "blind": 1.0}
    evaluate(run, "step-1000-trained-test-sight", [6.0, 8.0], sight=sight)
    evaluate(run, "step-1000-random-test", [3.0, 3.0])
    (row,) = rows("PPO2", run)
    assert (row["frozen"], row["episodes"], row["shuffled"], row["blind"]) == (7.0, 2, 2.0, 1.0)
    assert row["interval"] == pytest.approx([-5.706, 19.706], abs=1e-3)  # 12.706 is t of one degree
    (row,) = rows("random play", run / "evaluations" / "step-1000-random-test")
    assert (row["frozen"], row["game"]) == (3.0, "coinrun") and "learning" not in row


def test_a_row_of_the_page_stands_beside_theirs_and_leaves_empty_what_is_not_known(tmp_path):
    theirs = {"PPO2": {"coinrun": 8.9}}
    (row,) = rows("PPO2", run_folder(tmp_path / "run"))
    cells = entry_row(row, theirs)
    assert cells == ["PPO2", "coinrun", "3", "1,000", "5.00 ± 1.00", "", "", "", "", "8.9"]
    evaluate(tmp_path / "run", "step-1000-random-test", [3.0, 3.0])
    (row,) = rows("random play", tmp_path / "run" / "evaluations" / "step-1000-random-test")
    cells = entry_row(row, theirs)
    assert cells == ["random play", "coinrun", "", "", "", "3.00 (3.00 – 3.00)", "2", "", "", ""]


def test_until_judges_by_earlier_steps_and_by_no_evaluation(tmp_path):
    run = run_folder(tmp_path / "run")
    evaluate(run, "step-1000-trained-test", [8.0] * 4)
    more = "480,coinrun:4,1.0\n500,coinrun:5,3.0\n510,coinrun:6,9.0\n"
    with (run / "episodes.csv").open("a") as file:
        file.write(more)
    (row,) = rows("PPO2", run, until=700)
    assert (row["env_steps"], row["learning"]) == (500, 2.0) and "frozen" not in row


def test_what_is_no_run_on_one_game_is_refused(tmp_path):
    with pytest.raises(UserError, match="expected a run folder"):
        rows("PPO2", tmp_path)
    with pytest.raises(UserError, match="not on one Procgen game"):
        rows("PPO2", run_folder(tmp_path / "two", levels="procgen:coinrun,heist"))
    with pytest.raises(UserError, match="last tenth"):
        rows("PPO2", run_folder(tmp_path / "early", last=800))


def test_the_command_stores_rows_with_their_origin(tmp_path, capsys):
    out = tmp_path / "out.json"
    main([f"PPO2={run_folder(tmp_path / 'run')}", "--until", "0", "--out", str(out)])
    stored = json.loads(out.read_text())
    assert stored["rows"][0]["label"] == "PPO2" and {"command", "commit", "machine"} < set(stored)
    with pytest.raises(SystemExit) as ended:
        main(["runs/coinrun", "--out", str(out)])
    assert ended.value.code == 2 and "expected LABEL=RUN" in capsys.readouterr().err
