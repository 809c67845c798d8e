import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes

from retro_agents.ground.errors import UserError
from retro_agents.judging.procgen_table import main, plot_steps, rows_of
from retro_agents.run.metrics import EpisodeLog


def evaluated(
    run, kind="", *, game="coinrun", steps=2_000_000, tested="unseen", episodes=2, about=(), **means
):
    """A result among a made up run's evaluations. means: of its sets. about: what else it says."""
    sets = {
        key: {game: {"mean": mean, "returns": [mean] * episodes}} for key, mean in means.items()
    }
    test_levels = {"start": 0, "count": 0 if tested == "all" else 9}
    result = {"agent": "ppo2", "env_steps": steps, "sets": sets, "test_levels": test_levels}
    folder = run / "evaluations" / f"step-{steps:09d}-trained{kind}"
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(result | dict(about)))


def made_up(
    folder,
    *,
    returns,
    train=None,
    test=None,
    levels=200,
    mode="easy",
    game="coinrun",
    steps=2_000_000,
    agent="ppo2",
    **fields,
):
    """A run's folder as far as the table reads it."""
    folder.mkdir()
    env = {"distribution_mode": mode, "num_levels": levels}
    run = {"levels": f"procgen:{game}", "seed": ord(folder.name[-1]), "run_dir": str(folder)}
    config = {"run": run, "env": env, "evaluation": {"evaluate_every": len(returns)}, **fields}
    (folder / "config.json").write_text(json.dumps(config))
    kept = folder / "checkpoints" / f"step-{steps:09d}"
    kept.mkdir(parents=True)
    (kept / "meta.json").write_text(json.dumps({"agent": agent, "counters": {"env_steps": steps}}))
    with EpisodeLog(folder) as log:
        for number, value in enumerate(returns, steps - len(returns) + 1):
            log.log(number, 0, {"r": value, "l": 3, "level": f"{game}:{number}"})
    if train is not None:
        about = {"agent": agent}
        evaluated(folder, game=game, steps=steps, about=about, train=train, test=test)
    row = f"step,train_return,train_std,test_return,test_std\n1000,1,0.5,0,0.5\n{steps},9,1,8,1\n"
    (folder / "metrics.csv").write_text(row)
    return folder


def table_of(folder, runs, *flags):
    """The text that the command writes."""
    main([*map(str, runs), "--out", str(folder / "t.md"), *map(str, flags)])
    return (folder / "t.md").read_text()


def cells_of(folder, *runs):
    """The table's rows, each as its cells."""
    lines = table_of(folder, runs).splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if "ppo2 |" in line]


def scores_of(folder, runs):
    """The lines of mean scores."""
    return [line for line in table_of(folder, runs).splitlines() if "Mean" in line]


def test_seeds_are_one_row_beside_what_was_published(tmp_path):
    runs = [
        made_up(tmp_path / "a", returns=[0.0] * 50 + [8.0] * 100, train=8.0, test=7.0),
        made_up(tmp_path / "b", returns=[10.0], train=9.0, test=7.5),
    ]
    (cells,) = cells_of(tmp_path, *runs, f"{runs[0]}/../a")
    assert cells[:6] == ["coinrun", "easy", "200", "2,000,000", "ppo2", "2"]
    means = [float(cell.partition(" ")[0]) for cell in (*cells[6:9], cells[10])]
    assert means == [9.0, 8.5, 7.25, 1.25]
    assert cells[9] == "unseen"
    assert cells[11].startswith("0.700 (") and cells[12].startswith("0.450 (")
    assert cells[13:] == ["8.35 ± 0.12 → 7.83 on all (openai-easy-200)"]
    table_of(tmp_path, runs, "--plot", tmp_path / "p.png", "--gap", tmp_path / "g.png")
    assert (tmp_path / "p.png").stat().st_size > 5000 < (tmp_path / "g.png").stat().st_size


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [("env", "backgrounds", False), ("run", "levels", "procgen:coinrun,starpilot")],
)
def test_nothing_is_published_of_other_pictures_or_of_several_games(part, name, value, tmp_path):
    run = made_up(tmp_path / "a", returns=[8.0], levels=200)
    assert "openai" in "".join(*cells_of(tmp_path, run))
    config = json.loads((run / "config.json").read_text())
    config[part][name] = value
    (run / "config.json").write_text(json.dumps(config))
    assert "openai" not in "".join(map("".join, cells_of(tmp_path, run)))


def test_exploration_is_of_one_level(tmp_path):
    run = made_up(tmp_path / "a", returns=[8.0], mode="exploration", levels=0)
    (row,) = cells_of(tmp_path, run)
    assert row[1:3] == ["exploration", "1"]


def test_other_agents_and_settings_are_rows_of_their_own(tmp_path):
    scores = {"returns": [8.0], "train": 8.0, "test": 7.0}
    runs = [
        made_up(tmp_path / "a", **scores, gamma=0.9, microbatches=1),
        made_up(tmp_path / "b", **scores, gamma=0.9, microbatches=8),  # on another machine
        made_up(tmp_path / "c", **scores, gamma=0.99),
        made_up(tmp_path / "d", **scores, agent="sac"),
    ]
    text = table_of(tmp_path, runs, "--plot", tmp_path / "p.svg", "--gap", tmp_path / "g.svg")
    rows = [line for line in text.splitlines() if "coinrun" in line]
    cells = [[cell.strip() for cell in row.split("|")[5:7]] for row in rows]
    assert cells == [["ppo2 gamma=0.9", "2"], ["ppo2 gamma=0.99", "1"], ["sac", "1"]]
    for name in ("p.svg", "g.svg"):
        drawn = (tmp_path / name).read_text()
        assert all(f"{label} test" in drawn for label, _ in cells)


def test_runs_tested_on_other_levels_are_no_seeds_of_a_row(tmp_path):
    both = made_up(tmp_path / "a", returns=[8.0], train=8.0, test=7.0)
    evaluated(both, "-test-all", tested="all", test=6.0)
    other = made_up(tmp_path / "b", returns=[8.0], train=9.0, test=5.0)
    rows = cells_of(tmp_path, both, other)
    assert [(row[5], row[7][:4], row[8][:4], row[9]) for row in rows] == [
        ("1", "8.00", "6.00", "all"),
        ("2", "8.50", "6.00", "unseen"),
    ]


def test_runs_tested_on_other_levels_while_they_learned_are_no_seeds_of_a_curve(tmp_path):
    runs = [
        made_up(tmp_path / name, returns=[8.0], evaluation={"test_levels": protocol})
        for name, protocol in (("a", "auto"), ("b", "all"), ("c", "unseen"))
    ]
    table_of(tmp_path, runs, "--plot", tmp_path / "p.svg")
    drawn = (tmp_path / "p.svg").read_text()
    for protocol in ("unseen", "all"):
        assert f"tested on {protocol}, ppo2 test" in drawn


def test_seeds_that_were_evaluated_at_other_steps_are_drawn_where_both_were(tmp_path, monkeypatch):
    drawn = []
    runs = {"seed": [tmp_path / "1", tmp_path / "2"]}
    for folder, every in zip(runs["seed"], (1, 2), strict=True):
        folder.mkdir()
        rows = [f"{n},{n},1,{n},1" for n in range(every, 9, every)]
        head = "step,train_return,train_std,test_return,test_std"
        (folder / "metrics.csv").write_text("\n".join([head, *rows]) + "\n")
    monkeypatch.setattr(Axes, "plot", lambda _, x, y, *args, **named: drawn.append((x, y)))
    plot_steps(runs, tmp_path / "p.svg")
    for steps, values in drawn:
        assert steps.tolist() == values == [2.0, 4.0, 6.0, 8.0]
    assert len(drawn) == 2
    (folder / "metrics.csv").write_text(f"{head}\n9,9,1,9,1\n")
    with pytest.raises(UserError, match="the runs of seed were never"):
        plot_steps(runs, tmp_path / "p.svg")


def test_the_two_sets_may_be_of_two_evaluations(tmp_path):
    run = made_up(tmp_path / "a", returns=[4.0])
    evaluated(run, "-train", train=8.0)
    evaluated(run, "-test", test=7.0)
    evaluated(run, "-test-1-episodes", episodes=1, test=0)
    other = {"play": "best"}  # not as the checkpoint says
    evaluated(run, "-best", episodes=9, about=other, train=1, test=1)
    (row,) = cells_of(tmp_path, run)
    assert row[7:12] == ["8.00", "7.00", "unseen", "1.00", "0.600"] and row[12] == "0.400"


def test_only_the_newest_evaluations_count_and_the_episodes_before_them(tmp_path):
    run = made_up(tmp_path / "a", returns=[4.0, 6.0], steps=2_000_000)
    for steps, episodes, mean in ((1_000_000, 9, 1.0), (1_999_999, 2, 8.0)):
        evaluated(run, steps=steps, episodes=episodes, train=mean, test=mean)
    (row,) = rows_of(run)
    assert (row.env_steps, row.train, row.test, row.while_training) == (1_999_999, 8.0, 8.0, 4.0)


def test_of_two_evaluations_of_one_size_the_last_by_name_counts(tmp_path, monkeypatch):
    run, glob = made_up(tmp_path / "a", returns=[4.0], train=8.0, test=7.0), Path.glob
    evaluated(run, "-seed-1", train=6.0, test=5.0)
    monkeypatch.setattr(Path, "glob", lambda *asked: sorted(glob(*asked), reverse=True))
    (row,) = rows_of(run)
    assert (row.train, row.test) == (6.0, 5.0)


def test_a_row_with_evaluations_is_of_these_alone_and_says_of_how_many_seeds(tmp_path):
    runs = [
        made_up(tmp_path / "a", returns=[2.0], train=8.0, test=7.0),
        made_up(tmp_path / "b", returns=[4.0]),
    ]
    (row,) = cells_of(tmp_path, *runs)
    assert row[5] == "2" and row[6].startswith("3.00 (")
    assert row[7:12] == ["8.00, 1 of 2", "7.00, 1 of 2", "unseen", "1.00, 1 of 2", "0.600, 1 of 2"]


def test_a_run_that_ends_with_its_last_rollout_stands_beside_published_ones(tmp_path):
    for name, steps in (("a", 25_001_984), ("b", 26_000_000)):
        made_up(tmp_path / name, returns=[1.0], levels=0, game="bossfight", steps=steps)
    rows = cells_of(tmp_path, tmp_path / "a", tmp_path / "b")
    assert [row[-1] for row in rows] == [
        "9.10 ± 0.70 (openai-easy); 8.85 ± 0.33 (cleanrl-easy)",
        "",
    ]


def test_a_run_without_evaluation_has_its_training_alone(tmp_path):
    run = made_up(tmp_path / "a", returns=[4.0, 6.0], levels=0, game="starpilot", steps=750_000)
    (row,) = rows_of(run)
    assert row.while_training == 5.0 and np.isnan(row.train)
    text = table_of(tmp_path, [run])
    assert "| 6.9" in text and " ± 0.3" in text and "(openai-easy)" in text  # 6.915, 0.335
    assert "6.55 (train-procgen-pytorch-easy)" in text and "0.041" in text
    with pytest.raises(UserError, match="--gap"):
        main.__wrapped__([str(run), "--out", str(tmp_path / "t.md"), "--gap", "g.png"])


def test_runs_without_evaluation_whose_episodes_end_apart_are_seeds_of_a_row(tmp_path):
    runs = [made_up(tmp_path / name, returns=[6.0, 8.0]) for name in ("a", "b")]
    episodes = (runs[0] / "episodes.csv").read_text()
    (runs[0] / "episodes.csv").write_text(episodes.replace("2000000,", "1999999,"))
    assert "| 2,000,000 | ppo2 | 2 |" in table_of(tmp_path, runs)


def test_a_mean_score_is_over_games_of_the_same_settings(tmp_path):
    games = {"a": ("coinrun", 10.0, 0.9), "b": ("coinrun", 5.0, 0.99), "c": ("heist", 3.5, 0.9)}
    runs = [
        made_up(tmp_path / name, returns=[mean], game=game, gamma=gamma)
        for name, (game, mean, gamma) in games.items()
    ]
    runs.append(made_up(tmp_path / "d", returns=[0.0], agent="sac"))
    kind = "ppo2 gamma=0.9 over 2 games, easy, 200 levels, 2,000,000 steps, while training"
    expected = [f"Mean normalised score on training levels of {kind} (paper): 0.500"]  # of 1 and 0
    assert scores_of(tmp_path, runs) == expected


def test_mean_scores_are_of_one_mode_number_of_levels_and_steps(tmp_path):
    games = {"a": "coinrun", "b": "heist"}
    kinds = [{"mode": "hard"}, {"mode": "memory"}, {"levels": 0}, {"steps": 1_000}]
    runs = [
        made_up(tmp_path / f"{number}{name}", returns=[10.0 - number], game=game, **kind)
        for number, kind in enumerate([*kinds, {"train": 3.5, "test": 1.0}], 1)
        for name, game in games.items()
        if (game, kind.get("mode")) != ("coinrun", "memory")
    ]
    scores = scores_of(tmp_path, runs)
    parts = [line.partition(" games, ")[2].partition(" (paper): ") for line in scores]
    assert "on test levels (unseen)" in scores[3] and "on training levels" in scores[0]
    assert len({*scores}) == len(scores) and parts.pop(3)[2] == "−0.592"  # of -0.8 and -0.385
    assert {kind: float(score.replace("−", "-")) for kind, _, score in parts} == {
        "hard, 200 levels, 2,000,000 steps, while training": pytest.approx(0.838, abs=1e-3),
        "easy, all levels, 2,000,000 steps, while training": pytest.approx(0.469, abs=1e-3),
        "easy, 200 levels, 1,000 steps, while training": pytest.approx(0.292, abs=1e-3),
        "easy, 200 levels, 2,000,000 steps, evaluated": -0.15,
    }


def test_a_mean_score_has_an_interval_over_the_means_of_seeds_and_possible_returns_limit_it(
    tmp_path,
):
    runs = []
    for seed, low, learning in ((1, 5.0, 0.0), (2, 5.2, 10.0)):
        for game in ("coinrun", "maze"):
            (tmp_path / game).mkdir(exist_ok=True)
            of = {"returns": [learning], "game": game, "train": 10.0, "test": low}
            runs.append(made_up(tmp_path / game / f"{seed}", **of))
    train, test = (line.partition(": ")[2] for line in scores_of(tmp_path, runs))
    assert train == "1.000 (1.000 – 1.000)"
    assert test == "0.020 (−0.234 – 0.274)"  # of 0 and 0.04: ± 12.706 × 0.02
    for row in cells_of(tmp_path, *runs):
        assert row[6] == "5.00 (0.00 – 10.00)" and row[12] == test


def test_pictures_say_what_their_bands_are(tmp_path):
    runs = [made_up(tmp_path / name, returns=[8.0], train=8.0, test=7.0) for name in "ab"]
    flags = "--plot", tmp_path / "p.svg", "--gap", tmp_path / "g.svg"
    for given, band in ((runs, "lowest to highest run"), (runs[:1], "standard deviation over")):
        table_of(tmp_path, given, *flags)
        assert band in (tmp_path / "p.svg").read_text()
        assert ("lowest to" in (tmp_path / "g.svg").read_text()) == (given == runs)


def test_other_runs_and_those_without_checkpoint_and_evaluation_are_refused(tmp_path):
    run = made_up(tmp_path / "a", returns=[4.0])
    shutil.rmtree(run / "checkpoints")
    with pytest.raises(UserError, match="neither"):
        rows_of(run)
    (run / "config.json").write_text(json.dumps({"run": {"levels": "bramble-train"}}))
    with pytest.raises(UserError, match="bramble-train"):
        rows_of(run)


def test_damaged_files_are_named(tmp_path):
    run = made_up(tmp_path / "a", returns=[4.0], train=4.0, test=3.0)
    (path,) = run.glob("evaluations/*/result.json")
    path.write_text("{}")
    with pytest.raises(UserError, match=r"result\.json is damaged: it lacks agent"):
        rows_of(run)
    shutil.rmtree(run / "evaluations")
    (run / "episodes.csv").write_text("step,r\n1,4.0\n")
    with pytest.raises(UserError, match=r"episodes\.csv is damaged: it lacks the column level"):
        rows_of(run)
    (run / "config.json").write_text("[]")
    with pytest.raises(UserError, match=r"config\.json is not a result: expected a run folder"):
        rows_of(run)
