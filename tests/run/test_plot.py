import shutil
import sys

import imageio.v3 as imageio
import numpy as np
import pytest

from retro_agents.ground.errors import UserError
from retro_agents.run.metrics import EpisodeLog, Metrics
from retro_agents.run.plot import main, mean_curve, plot_curves, read_curve, smooth


@pytest.fixture
def runs(tmp_path):
    folders = []
    for seed in range(2):
        folder = tmp_path / f"seed-{seed}"
        folder.mkdir()
        with EpisodeLog(folder) as log, Metrics(folder, tensorboard=False) as metrics:
            for step in range(100, 2000, 100):
                episode = {"r": step + seed, "l": 9, "level": "G:S", "progress": 0, "finished": 0}
                log.log(step, 0, episode)
                metrics.log(step, {"loss": 1 / step} if step > 300 else {"other": 1})
        folders.append(folder)
    return folders


def slow_smooth(values, window):
    return [float(np.mean(values[max(i - window + 1, 0) : i + 1])) for i in range(len(values))]


def test_smoothing_equals_the_slow_mean():
    values = np.random.default_rng(0).normal(size=37)
    for window in (1, 2, 20, 100):
        _, smoothed = smooth(np.arange(37), values, window=window)
        assert np.allclose(smoothed, slow_smooth(values, window))


def test_the_mean_curve_covers_what_all_runs_know():
    a = (np.array([0.0, 10.0]), np.array([0.0, 10.0]))
    b = (np.array([2.0, 8.0]), np.array([4.0, 10.0]))
    steps, values = mean_curve([a, b])
    assert (steps[0], steps[-1]) == (2.0, 8.0)
    assert np.allclose(values, steps + 1)


def test_a_column_comes_from_episodes_else_metrics_without_gaps(runs):
    steps, values = read_curve(runs[1], "r")
    assert (values == steps + 1).all()
    steps, values = read_curve(runs[0], "loss")
    assert steps[0] == 400
    assert np.isfinite(values).all()


def test_an_unknown_column_names_the_known_ones(runs, tmp_path):
    with pytest.raises(UserError, match=r"no column 'los'; it has: step, .*, env"):
        read_curve(runs[0], "los")
    with pytest.raises(UserError, match="not a run folder"):
        read_curve(tmp_path, "loss")


def test_metrics_are_drawn_before_an_episode_has_ended(runs):
    with EpisodeLog(runs[0]):
        pass
    assert len(read_curve(runs[0], "loss")[0]) == 16
    with pytest.raises(UserError, match="no rows yet"):
        read_curve(runs[0], "r")
    (runs[0] / "metrics.csv").write_text("step,loss\n1,\n2,\n")
    with pytest.raises(UserError, match="'loss' has no value yet"):
        read_curve(runs[0], "loss")


def test_the_mean_of_curves_that_never_meet_is_empty(tmp_path):
    a, b = (np.array([8.0]), np.array([1.0])), (np.array([4.0]), np.array([1.0]))
    assert [len(each) for each in mean_curve([a, b])] == [0, 0]


def test_the_png_is_drawn(runs, tmp_path):
    out = plot_curves(
        {"both": runs, "a$^$": runs[:1]},
        tmp_path / "new" / "c.png",
        title=r"$\x$",
        levels={"random": 500.0},
    )
    picture = imageio.imread(out)
    assert picture.shape[:2] == (504, 864)
    assert picture[..., :3].std() > 5


def test_an_unwritable_place_is_a_user_error(runs):
    with pytest.raises(UserError, match="cannot write"):
        plot_curves({"a": runs}, runs[0] / "episodes.csv" / "c.png")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "c.xyz"], "a name that ends in .png"),
        (["--out", "folder"], "a name that ends in .png"),
        (["--window", "0"], "window"),
        (["--window=-3"], "window"),
        (["--column", "level"], "'level' is text"),
        (None, "RUN"),
    ],
)
def test_mistakes_are_told_in_one_line(runs, tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SystemExit) as stop:
        main([str(runs[0]), *words] if words else [])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_runs_of_the_same_name_are_told_apart_by_their_paths(runs, tmp_path, monkeypatch):
    drawn: list[list[str]] = []
    monkeypatch.setattr(
        "retro_agents.run.plot.plot_curves", lambda curves, *_, **__: drawn.append([*curves])
    )
    for name in ("a", "b"):
        shutil.copytree(runs[0], tmp_path / name / "training")
    paths = [str(tmp_path / name / "training") for name in ("a", "b")]
    main([str(runs[0]), str(runs[1])])
    main(paths)
    main([*paths, "--label", "c", "c"])
    assert drawn == [["seed-0", "seed-1"], paths, ["c"]]


def test_the_command_draws_and_says_where(runs, tmp_path, monkeypatch, capsys):
    names = [str(run) for run in runs]
    argv = ["plot", *names, "--label", "a", "a", "--out", str(tmp_path / "c.png")]
    monkeypatch.setattr(sys, "argv", argv)
    main()
    assert capsys.readouterr().out.strip() == str(tmp_path / "c.png")
    assert (tmp_path / "c.png").stat().st_size > 1000
    monkeypatch.setattr(sys, "argv", ["plot", *names, "--label", "a"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
