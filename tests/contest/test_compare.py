"""Runs, contests and stored results beside each other."""

import json
import shutil
from pathlib import Path

import pytest

from retro_agents.contest.compare import CompareConfig, compared, draw, lacking, main, remarks
from retro_agents.contest.entries import budgets, runs_of
from retro_agents.contest.stored import RESULTS, shipped
from retro_agents.ground.errors import UserError
from retro_agents.run.flags import texts


def test_the_others_are_compared_with_the_first_on_shared_levels():
    one = {"a": {0: 100.0, 1: 200.0}, "b": {0: 300.0, 1: 300.0}}
    other = {"b": {0: 500.0, 1: 700.0}, "c": {0: 1.0}}
    first, second = compared({"one": one, "other": other})
    assert (first.mean, second.mean, second.apart, second.better) == (300.0, 600.0, 300.0, 1.0)
    assert first.better == 0.5 and second.seeds == 2
    assert 0.0 <= second.interval[0] < 600.0 < second.interval[1] <= 10_000.0
    with pytest.raises(UserError, match="no level in common"):
        compared({"one": {"a": one["a"]}, "other": other})


def test_an_interrupted_contest_has_the_mean_and_the_interval_of_its_whole_seeds(tmp_path):
    cut = {"a": {0: 5000.0, 1: 5000.0, 2: 1000.0}, "b": {0: 5000.0, 1: 5000.0}}
    tenths = {str(level): {0: level / 10, 1: level / 10} for level in range(1, 4)}  # sums round
    for runs in (cut, tenths):
        found = compared({"one": {level: {0: 1.0, 1: 1.0} for level in runs}, "cut": runs})
        second = found[1]
        assert second.interval == pytest.approx((second.mean, second.mean)) and second.seeds == 2
        assert second.apart_interval == pytest.approx((second.apart, second.apart))
        draw(found, tmp_path / "plot.png")


def test_labels_are_drawn_as_they_are(tmp_path):
    runs = {"level": {0: 1.0, 1: 2.0}}
    draw(compared({"a$x$": runs, r"b$\frac$": runs, "c\n\a": runs}), tmp_path / "plot.png")
    assert (tmp_path / "plot.png").is_file()


def run_of(folder, episodes, *, seed=0, **env):
    """A run's folder. episodes: (level, return) of the steps 1, 2, …"""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"run": {"seed": seed}, "env": env}))
    rows = "".join(f"{n},0,{level},{r},5,0.1,0\n" for n, (level, r) in enumerate(episodes, 1))
    (folder / "episodes.csv").write_text(f"step,env,level,r,l,progress,finished\n{rows}")
    return str(folder)


def test_runs_are_seeds_and_stored_results_stand_beside_them(tmp_path, capsys):
    stored = runs_of("random")
    level = next(iter(stored))
    for seed in (3, 4):
        episodes = [(level, 100 * seed * i) for i in (1, 3)]
        run_of(tmp_path / f"run{seed}", episodes, seed=seed)
    both = f"{tmp_path / 'run3'},{tmp_path / 'run4'}"
    assert runs_of(both) == {level: {3: 600.0, 4: 800.0}}
    main(["random", both, "--plot", str(tmp_path / "plot.png"), "--out", str(tmp_path / "c.json")])
    said = capsys.readouterr().out
    assert "on 1 shared level" in said and "Compared with random" in said and "700" in said
    assert (tmp_path / "plot.png").is_file()
    assert json.loads((tmp_path / "c.json").read_text())["entries"][1]["seeds"] == 2
    main([both, str(tmp_path / "run3")])
    said = capsys.readouterr().out
    table, _, advice = said.partition("of each entry, and there is one of run3")
    assert table.rpartition("run3")[2].split()[:4] == ["-100", "–", "no", "–"] and advice
    main(["random", "jerk-recovering", "run-and-jump"])
    said = capsys.readouterr().out
    assert "two seeds" not in said and "…" not in said  # nothing is cut at 80 columns


def test_a_sweeps_folders_have_commas_in_their_names(tmp_path, capsys):
    (tmp_path / "a=1,b=2").mkdir()
    runs = [run_of(tmp_path / f"a=1,b=2/all-{n}", [("x", 100.0 * n)], seed=n) for n in (1, 2)]
    assert runs_of(",".join(runs)) == {"x": {1: 100.0, 2: 200.0}}
    main(runs)
    assert "all-1" in capsys.readouterr().out


def test_runs_with_one_seed_and_other_levels_stay_apart(tmp_path):
    one = run_of(tmp_path / "one", [("A", 100), ("B", 100)])
    other = run_of(tmp_path / "other", [("B", 900), ("C", 900)])
    apart = {"A": {0: 100.0}, "B": {0: 100.0, -2: 900.0}, "C": {-2: 900.0}}
    assert runs_of(f"{one},{other}") == apart


def test_a_run_of_each_level_and_seed_joins_the_seeds_of_all_levels(tmp_path):
    runs = [
        run_of(tmp_path / f"{level}{seed}", [(level, 10.0 * seed)], seed=seed)
        for level in "AB"
        for seed in range(2)
    ]
    assert runs_of(",".join(runs)) == {level: {0: 0.0, 1: 10.0} for level in "AB"}


def test_a_run_that_tells_no_seed_has_the_number_of_its_place(tmp_path):
    runs = [run_of(tmp_path / f"{n}", [("A", 100.0 * n)], seed=None) for n in range(2)]
    assert runs_of(",".join(runs)) == {"A": {0: 0.0, 1: 100.0}}


def test_a_run_that_is_given_twice_is_one_seed(tmp_path):
    one = run_of(tmp_path / "one", [("A", 100), ("B", 300)], seed=3)
    copied = shutil.copytree(one, tmp_path / "copied")
    assert runs_of(f"{one},{one},{copied}") == {"A": {3: 100.0}, "B": {3: 300.0}}
    other = run_of(tmp_path / "other", [("A", 900)], seed=3)
    assert list(runs_of(f"{one},{other},{other}")["A"].values()) == [100.0, 900.0]


def test_a_joined_run_without_an_ended_episode_is_refused_by_its_name(tmp_path):
    one, empty = run_of(tmp_path / "one", [("A", 100)]), run_of(tmp_path / "empty", [], seed=1)
    with pytest.raises(UserError, match=f"^{empty}: no episode has ended"):
        runs_of(f"{one},{empty}")


def test_a_comparison_says_which_contests_are_cut_or_shorter(tmp_path, capsys):
    stored = json.loads((RESULTS / "jerk-hybrid.json").read_text())
    stored["jobs"][0] |= {"status": "crashed", "steps": 2000}
    stored["missing"] = [{"level": stored["jobs"][0]["level"], "seed": 99}]
    (tmp_path / "mine.json").write_text(json.dumps(stored))
    main(["random", str(tmp_path / "mine.json")])
    said = capsys.readouterr().out
    assert "mine.json: 2 of 23 runs did not play all their steps" in said
    assert "incomplete" in said and "yes" not in said
    main([str(tmp_path / "mine.json"), "random", "--out", str(tmp_path / "c.json")])
    assert "yes" not in capsys.readouterr().out
    rows = json.loads((tmp_path / "c.json").read_text())["entries"]
    assert [row["incomplete"] for row in rows] == [True, False]
    assert "Their steps per level differ: random 10,000, mine.json 50,000." in said
    assert "ROMs" not in said
    stored["jobs"][0]["rom_sha1"] = "of another cartridge"
    (tmp_path / "mine.json").write_text(json.dumps(stored))
    main(["random", str(tmp_path / "mine.json")])
    assert "different ROMs of BrambleDash-Genesis-v0" in capsys.readouterr().out


def test_the_help_names_all_shipped_results():
    assert ", ".join(shipped()) in texts(CompareConfig)["entries"]


def test_an_evaluations_episodes_are_its_seeds(tmp_path, monkeypatch):
    result = {"seed": 4, "scores": [], "returns": {"Game:Act": [10.0, 30.0]}}
    (tmp_path / "random").mkdir()
    monkeypatch.chdir(tmp_path)
    assert len(runs_of("random")) == 11, "an empty folder hides no stored result"
    (tmp_path / "random" / "result.json").write_text(json.dumps(result))
    assert runs_of("random/result.json") == runs_of("random")
    main(["random/result.json", "random"])  # as no contest's
    assert runs_of("random") == {"Game:Act": {4: 10.0, 5: 30.0}}, "a folder before a stored result"


def judged(folder, returns, /, *, seed=4, **other):
    """The folder of an evaluation of the agent of that name."""
    folder.mkdir()
    result = {"agent": folder.name, "seed": seed, "returns": {"Game:Act": returns}, **other}
    (folder / "result.json").write_text(json.dumps(result))
    return str(folder)


def on_procgen(folder, *, seed, sha="", count=9, **games):
    """The folder of an evaluation on test levels of Procgen. games: their returns."""
    folder.mkdir()
    result = {
        "train_seed": seed,
        "checkpoint_sha256": sha or folder.name,
        "policy": "trained",
        "num_levels": 200,
        "test_levels": {"mode": "easy", "start": 0, "count": count},
        "seed": 0,
        "sets": {"test": {game: {"returns": returns} for game, returns in games.items()}},
    }
    (folder / "result.json").write_text(json.dumps(result))
    return str(folder)


def test_what_is_shown_of_one_evaluation_is_shown_of_its_net_alone(tmp_path, capsys):
    one, other = judged(tmp_path / "a", [250.0, 254.0]), judged(tmp_path / "b", [0.0, 1.0])
    main([one, other])
    said = " ".join(capsys.readouterr().out.split())
    assert "2 episodes" in said and "yes, as it is" in said
    assert "a, b: the intervals are over episodes of one agent" in said
    more = judged(tmp_path / "c", [1.0, 3.0]), judged(tmp_path / "d", [5.0, 7.0])
    assert runs_of(f"{one},{other}") == {"Game:Act": {0: 252.0, 1: 0.5}}
    main([f"{one},{other}", ",".join(f"{folder}/result.json" for folder in more)])
    said = capsys.readouterr().out
    assert "one agent" not in said and "episodes" not in said and " 4 " in said


def test_what_is_shown_of_a_frozen_agents_contest_is_shown_of_its_net_alone(tmp_path, capsys):
    stored = json.loads((RESULTS / "jerk-hybrid.json").read_text())
    for mode in ("frozen", "adapt"):
        stored["agent"]["mode"] = mode
        (tmp_path / f"{mode}.json").write_text(json.dumps(stored))
        main(["random", str(tmp_path / f"{mode}.json")])
        said = " ".join(capsys.readouterr().out.split())
        alone = f"{mode}.json: the intervals are over seeds of one agent"
        assert (alone in said, "yes, as it is" in said) == (mode == "frozen", mode == "frozen")


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"returns": {"Game:Act": [1.0]}}, "other levels, numbers of episodes or ways to play"),
        ({"returns": {"Game:Other": [1.0, 2.0]}}, "other levels, numbers of episodes"),
        ({"play": "best"}, "other levels, numbers of episodes or ways to play"),
        ({"agent": "a"}, "b/result.json is of the same agent as another one"),
    ],
)
def test_only_like_evaluations_of_different_agents_are_seeds(other, says, tmp_path):
    one, other = judged(tmp_path / "a", [1.0, 2.0]), judged(tmp_path / "b", [1.0, 2.0], **other)
    with pytest.raises(UserError, match=says):
        runs_of(f"{one},{other}")


def test_a_run_and_an_evaluation_are_no_seeds_of_one_entry(tmp_path):
    one, run = judged(tmp_path / "a", [1.0]), run_of(tmp_path / "run", [("A", 100)])
    with pytest.raises(UserError, match="join only runs, or only evaluations, by commas"):
        runs_of(f"{run},{one}")


def test_held_out_returns_of_procgen_are_compared_and_normalised_over_games(tmp_path, capsys):
    low, high = ({"coinrun": [r, r], "bigfish": [1.0, 1.0 + r]} for r in (5.0, 10.0))
    ones = [on_procgen(tmp_path / f"a{seed}", seed=seed, **low) for seed in range(2)]
    others = [on_procgen(tmp_path / f"b{seed}", seed=seed, **high) for seed in range(2)]
    assert runs_of(ones[0])["coinrun easy, unseen"] == {0: 5.0, 1: 5.0}
    assert runs_of(",".join(others)) == {
        "coinrun easy, unseen": {0: 10.0, 1: 10.0},
        "bigfish easy, unseen": {0: 6.0, 1: 6.0},
    }
    main([",".join(ones), ",".join(others), "--out", str(tmp_path / "c.json")])
    first, second = json.loads((tmp_path / "c.json").read_text())["entries"]
    assert first["mean"] == pytest.approx((0.0 + 2.5 / 39.0) / 2)
    assert second["mean"] == pytest.approx((1.0 + 5.0 / 39.0) / 2)
    assert "Mean normalised scores on 2 shared levels" in (said := capsys.readouterr().out)
    assert "published range" in said and "one agent" not in said
    whole = on_procgen(tmp_path / "all", seed=2, count=0, **low)
    with pytest.raises(UserError, match="no level in common"):
        compared({one: runs_of(one) for one in (ones[0], whole)})
    with pytest.raises(UserError, match="other levels"):
        runs_of(f"{ones[0]},{whole}")


def test_runs_on_procgen_share_games_of_one_mode(tmp_path):
    games = [("coinrun:1", 10.0), ("bigfish:1", 40.0)]
    runs = [
        runs_of(run_of(tmp_path / mode, games, distribution_mode=mode))
        for mode in ("easy", "extreme", "hard")
    ]
    assert [compared({"a": one, "b": one})[0].mean for one in runs] == [1.0, 25.0, 1.0]
    with pytest.raises(UserError, match="no level in common"):
        compared({"a": runs[0], "b": runs[2]})


def test_an_interval_on_procgen_is_of_possible_returns():
    of_coinrun = {"coinrun easy": {0: 0.0, 1: 10.0}}
    first, second = compared({"a": of_coinrun, "b": of_coinrun})
    assert (first.interval, second.apart_interval) == ((0.0, 10.0), (-10.0, 10.0))
    first, _ = compared({name: {"starpilot easy": {0: 0.0, 1: 10.0}} for name in "ab"})
    assert first.interval[0] == 0.0 and first.interval[1] > 60.0
    both = {"coinrun easy": {0: 5.0, 1: 10.0}, "maze easy": {0: 5.0, 1: 10.0}}
    assert compared(dict.fromkeys("ab", both))[0].interval == (-1.0, 1.0)  # normalised


def test_the_intervals_of_several_differences_hold_at_once(capsys):
    """Two seeds each at a distance of 2: the standard error is sqrt(2), with 2 degrees of freedom;
    Student's quantiles at 97.5 % and at 98.75 % are 4.3027 and 6.2053."""
    one, other = ({"level": {0: r - 1.0, 1: r + 1.0}} for r in (50.0, 57.0))
    _, alone = compared({"a": one, "b": other})
    assert alone.apart_interval == pytest.approx((7 - 6.0849, 7 + 6.0849), abs=1e-3)
    _, with_another, _ = compared({"a": one, "b": other, "c": one})
    assert with_another.apart_interval == pytest.approx((7 - 8.7756, 7 + 8.7756), abs=1e-3)
    main(["random", "jerk-hybrid", "jerk-recovering"])
    assert "intervals of the 2 differences hold at once" in capsys.readouterr().out
    main(["random", "jerk-hybrid"])
    assert "at once" not in capsys.readouterr().out


def test_entries_get_the_labels_that_are_given(tmp_path, capsys):
    runs = [run_of(tmp_path / f"run{n}", [("A", 100.0 * n)], seed=n) for n in range(2)]
    main([*runs, "--label", "first", "second"])
    said = capsys.readouterr().out
    assert "Compared with first" in said and "second" in said and "run1" not in said


@pytest.mark.parametrize("table", ["step,r\n1,5\n", "step,level\n1,A\n", "step,level,r\n1,A,x\n"])
def test_a_damaged_table_of_episodes_is_one_line(table, tmp_path):
    run = run_of(tmp_path / "run", [])
    (tmp_path / "run" / "episodes.csv").write_text(table)
    with pytest.raises(UserError, match=r"episodes\.csv is damaged: expected a column level, and"):
        runs_of(run)


def test_only_the_last_part_of_a_run_counts_if_it_is_asked_for(tmp_path):
    run = run_of(tmp_path / "run", [("A", 10.0 * n) for n in range(1, 11)])
    assert runs_of(run, last=0.2) == {"A": {0: 95.0}}
    with pytest.raises(UserError, match="--last counts episodes of runs, and random is no run"):
        runs_of("random", last=0.5)


def test_the_names_of_many_runs_are_read_one_by_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"{seed:060}" for seed in range(10)]
    for seed, name in enumerate(names):
        run_of(tmp_path / name, [("x", 100.0)], seed=seed)
    assert len(runs_of(",".join(names))["x"]) == 10


def test_what_is_compared_fits_a_terminal_and_small_returns_have_decimals(
    tmp_path, capsys, monkeypatch
):
    """Procgen's may be negative, too. Its runs share games, not levels."""
    entries = []
    for low, name in ((-0.5, "ppo2-pretrained"), (0.3, "ppo2-from-scratch")):
        runs = [
            run_of(tmp_path / f"{name}-{seed}", [(f"fruitbot:{seed}", low + 0.1 * seed)], seed=seed)
            for seed in range(3)
        ]
        entries.append(",".join(runs))
    main(entries)
    said = capsys.readouterr().out
    assert "…" not in said and "-0.4" in said.replace("−", "-") and "+0.8" in said
    monkeypatch.setenv("COLUMNS", "50")  # what is too narrow says that it lacks digits
    main(entries)
    assert "…" in capsys.readouterr().out
    first, _ = compared({entry: runs_of(entry) for entry in entries})
    assert first.interval[0] < -0.4


def test_a_comparison_says_which_runs_are_unfinished_shorter_or_lack_levels(tmp_path, capsys):
    runs = [
        run_of(tmp_path / f"run{seed}", [(level, 100.0) for level in levels], seed=seed)
        for seed, levels in enumerate(("XY", "XZ", "YZ"))
    ]
    whole = [
        run_of(tmp_path / f"whole{seed}", [(level, 9.0 * seed) for level in "XYZ"], seed=seed)
        for seed in range(2)
    ]
    for folder, steps in [*((run, 1_000) for run in runs), *((run, 5_000) for run in whole)]:
        config = {"run": {"seed": int(folder[-1]), "timesteps": steps}}
        Path(folder, "config.json").write_text(json.dumps(config))
    saved = Path(whole[0], "checkpoints/step-000000500")
    saved.mkdir(parents=True)
    (saved / "meta.json").touch()
    main([",".join(runs), ",".join(whole)])
    said = " ".join(capsys.readouterr().out.split())
    assert "whole0,whole1: 1 of 2 runs have not played all their steps" in said
    assert "Their steps differ: run0,run1,run2 1,000, whole0,whole1 5,000." in said
    assert "run0,run1,run2: 0 of 3 seeds have all 3 levels, so there is no interval." in said
    assert "join runs" not in said
    Path(whole[0], "config.json").write_text('{"run": {"timesteps": Infinity}}')
    assert [most for _, most in budgets(",".join(whole))] == [0, 5_000]
    one = {level: {0: 1.0, 1: 2.0} for level in "XY"} | {"Z": {0: 1.0}}
    assert "1 of 2 seeds have all 3 levels, so the mean is of that one" in lacking("a", one)


def test_a_comparison_says_who_did_not_learn_and_whose_episodes_are_shorter(tmp_path, capsys):
    run = Path(run_of(tmp_path / "run", [("Game:Act", 100.0)], seed=0))
    (run / "config.json").write_text('{"run": {"timesteps": 9}, "env": {"episode_steps": 60}}')
    result = {"seed": 4, "scores": [], "returns": {"Game:Act": [10.0, 30.0]}}
    (tmp_path / "judged").mkdir()
    (tmp_path / "judged" / "result.json").write_text(json.dumps(result))
    main([str(run), str(tmp_path / "judged")])
    said = " ".join(capsys.readouterr().out.split())
    assert "judged did not learn while it was scored, but run did" in said
    assert "their episodes end at the latest differ: judged 4,500, run 60." in said


@pytest.mark.parametrize(
    ("one", "says"),
    [
        ([(1_000, 1_000), (5_000, 5_000)], ["Their steps differ: a 1,000 and 5,000, b 5,000."]),
        ([(9_000, 5_000)], ["Their steps differ: a 9,000, b 5,000."]),  # its plan is of a resume
        ([(5_000, 1_000), (5_000, 5_000)], []),
    ],
)
def test_runs_are_as_long_as_they_played_or_are_to_and_each_length_is_said(one, says):
    assert remarks({}, {"a": one, "b": [(5_000, 5_000)]}) == says
