import os
import shutil
import subprocess
import sys
from unittest.mock import Mock

import imageio.v3 as imageio
import numpy as np
import pytest
from matplotlib.figure import Figure

from retro_agents.ground.errors import UserError
from retro_agents.run.metrics import EpisodeLog, Metrics
from retro_agents.run.plot import main, marker_of, on_shared_steps, plot_curves, read_curve, smooth


@pytest.fixture
def runs(tmp_path):
    folders = []
    for seed in range(2):
        folder = tmp_path / f"seed-{seed}"
        folder.mkdir()
        with EpisodeLog(folder) as log, Metrics(folder) as metrics:
            for step in range(100, 2000, 100):
                episode = {"r": step + seed, "l": 9, "level": "G:S", "progress": 0, "finished": 0}
                log.log(step, 0, episode)
                metrics.log(step, {"loss": 1 / step} if step > 300 else {"other": 1})
        folders.append(folder)
    return folders


def test_smoothing_equals_the_slow_mean():
    values = np.random.default_rng(0).normal(size=37)
    for window in (1, 2, 20, 100):
        _, smoothed = smooth(np.arange(37), values, window=window)
        slow = [np.mean(values[max(i - window + 1, 0) : i + 1]) for i in range(37)]
        np.testing.assert_allclose(smoothed, slow)


def test_a_curve_of_few_points_has_markers_and_so_has_a_mean_at_a_single_step():
    a, b = (np.array([10, 20, 30]), np.zeros(3)), (np.array([30, 40, 50]), np.ones(3))
    assert [marker_of(steps) for steps in (a[0], a[0][:2], on_shared_steps([a, b])[0])] == [
        None,
        "o",
        "o",
    ]


def test_the_mean_curve_covers_what_all_runs_know():
    a = (np.array([0.0, 10.0]), np.array([0.0, 10.0]))
    b = (np.array([2.0, 8.0]), np.array([4.0, 10.0]))
    steps, values = on_shared_steps([a, b])
    assert (steps[0], steps[-1]) == (2.0, 8.0)
    np.testing.assert_allclose(values.mean(axis=0), steps + 1)
    never = (np.array([18.0]), np.array([1.0]))
    assert [each.shape for each in on_shared_steps([a, never])] == [(0,), (2, 0)]


def test_a_column_comes_from_episodes_else_metrics_without_gaps(runs, tmp_path):
    steps, values = read_curve(runs[1], "r")
    assert (values == steps + 1).all()
    steps, values = read_curve(runs[0], "loss")
    assert steps[0] == 400 and np.isfinite(values).all()
    with pytest.raises(UserError, match=r"no column 'los'; it has: step, .*, env"):
        read_curve(runs[0], "los")
    with pytest.raises(UserError, match="not a run folder"):
        read_curve(tmp_path, "loss")
    with EpisodeLog(runs[0]):
        pass
    assert len(read_curve(runs[0], "loss")[0]) == 16  # before an episode has ended
    with pytest.raises(UserError, match="no rows yet"):
        read_curve(runs[0], "r")
    (runs[0] / "metrics.csv").write_text("step,loss\n1,\n2,\n")
    with pytest.raises(UserError, match="'loss' has no value yet"):
        read_curve(runs[0], "loss")


def test_the_png_is_drawn(runs, tmp_path):
    curves, levels = {"both": runs, "a$^$": runs[:1], "\udcff": runs[1:]}, {"random": 500.0}
    out = plot_curves(curves, tmp_path / "new" / "c.png", title="$\\x$\udcff", levels=levels)
    picture = imageio.imread(out)
    assert picture.shape[:2] == (504, 864) and picture[..., :3].std() > 5
    with pytest.raises(UserError, match="cannot write"):
        plot_curves({"a": runs}, runs[0] / "episodes.csv" / "c.png")


def test_every_label_is_in_the_legend(runs, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, _: drawn.append(figure))
    for log in (False, True):
        plot_curves({"_a": runs[:1], "b": runs[1:]}, tmp_path / "c.png", log=log)
    assert [figure.axes[0].get_xscale() for figure in drawn] == ["linear", "log"]
    texts = drawn[0].axes[0].get_legend().get_texts()
    assert [text.get_text() for text in texts] == ["_a", "b"]


def test_the_band_of_three_runs_is_their_interval_and_the_legend_says_so(tmp_path, monkeypatch):
    """At 9, 10 and 11: a deviation of 1, and a quantile of 4.3027 with 2 degrees of freedom."""
    folders, drawn = [], []
    for seed in range(3):
        with Metrics(folder := tmp_path / f"{seed}") as metrics:
            for step in (100, 200, 300):
                metrics.log(step, {"loss": 9.0 + seed})
        folders.append(folder)
    monkeypatch.setattr(Figure, "savefig", lambda figure, _: drawn.append(figure.axes[0]))
    for runs in (folders, folders[:2]):
        plot_curves({"a": runs}, tmp_path / "c.png", column="loss", window=1)
    three, two = drawn
    ends = three.collections[0].get_paths()[0].vertices[:, 1]
    assert (ends.min(), ends.max()) == pytest.approx((10 - 2.4842, 10 + 2.4842), abs=1e-3)
    (text,) = three.get_legend().get_texts()
    assert text.get_text() == "a (band: 95 % interval over 3 runs)" and not two.collections


def test_runs_of_the_same_name_are_told_apart_by_their_paths(runs, tmp_path, monkeypatch, capsys):
    main([*map(str, runs), "--label", "a", "a", "--out", str(tmp_path / "c.png")])
    assert capsys.readouterr().out.strip() == str(tmp_path / "c.png")
    monkeypatch.setattr("retro_agents.run.plot.plot_curves", draw := Mock())
    for name in ("a", "b"):
        shutil.copytree(runs[0], tmp_path / name / "training")
    paths = [str(tmp_path / name / "training") for name in ("a", "b")]
    main([str(runs[0]), str(runs[1]), "--title", "two"])
    main(paths)
    main([*paths, "--label", "c", "c", "--column", "loss"])
    monkeypatch.chdir(runs[0])
    main(["."])
    drawn = [[*call.args[0]] for call in draw.call_args_list]
    assert drawn == [["seed-0", "seed-1"], paths, ["c"], ["seed-0"]]
    columns = [call.kwargs["column"] for call in draw.call_args_list]
    assert columns == ["r", "r", "loss", "r"]
    assert [call.kwargs["title"] for call in draw.call_args_list] == ["two", "", "", ""]
    windows = [call.kwargs["window"] for call in draw.call_args_list]
    assert windows == [20, 20, 1, 20]  # the rows of metrics.csv are means already


def test_a_curve_is_drawn_whatever_back_end_the_environment_names(runs, tmp_path):
    """As Jupyter does, whose own back end may not be installed here."""
    command = [sys.executable, "-m", "retro_agents.run.plot", str(runs[0])]
    environment = {**os.environ, "MPLBACKEND": "none"}
    subprocess.run([*command, "--out", str(tmp_path / "a.png")], env=environment, check=True)
    assert (tmp_path / "a.png").stat().st_size > 1000
