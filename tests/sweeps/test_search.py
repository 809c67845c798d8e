"""Searches by Optuna, of an agent whose score is 10 times its gamma."""

import pytest

from retro_agents.ground.errors import UserError
from retro_agents.ground.results import read_result, store
from retro_agents.sweeps import search
from retro_agents.sweeps.__main__ import main
from retro_agents.sweeps.config import SweepConfig

pytest.importorskip("optuna")


def search_for(*words, out="runs", space="gamma=0.1:0.9"):
    main(["--agent", "toy", "--out", out, "--search", space, "--jobs", "1", *words])


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(search, "SECONDS", 0.01)


@pytest.fixture
def played(monkeypatch):
    """Runs without a process: a row of metrics each, or rows until they are stopped."""
    begun = []

    def play(study, cell, out, *, threads, stopping):
        (kind,) = study.kinds.values()
        (gamma,) = (float(w.partition("=")[2]) for w in kind.words if w.startswith("--gamma"))
        begun.append((cell.name, gamma))
        (out / cell.name).mkdir(parents=True, exist_ok=True)
        slow = len(begun) > search.FIRST and gamma < 0.3
        rows = "".join(f"{step},{gamma}\n" for step in (10, 20, *([] if slow else [40])))
        (out / cell.name / "metrics.csv").write_text("step,mean_return\n" + rows)
        if slow and stopping.wait(20):
            raise UserError("stopped")

    monkeypatch.setattr(search, "play", play)
    return begun


@pytest.mark.parametrize(
    ("rows", "score"),
    [
        ("9,1.0,5\n19,3.0,7\n20,2.0,7\n", 2.5),
        ("10,1.0,5\n15,3.0,7\n20,,9\n", 3.0),  # no evaluation in the last tenth
    ],
)
def test_a_trials_score_is_of_the_returns_that_it_is_stopped_by(tmp_path, rows, score):
    (tmp_path / "metrics.csv").write_text("step,train_return,mean_return\n" + rows)
    assert search.last_score(tmp_path, search.EVALUATED) == score


@pytest.mark.parametrize(
    ("names", "head", "expected"),
    [
        (search.PLAYED, "step,loss", {}),  # no episode has ended
        (search.EVALUATED, "step,mean_return", {}),  # nor an evaluation: no other return instead
        (search.PLAYED, "step,return", {10: 5.0}),  # ES's
    ],
)
def test_a_run_has_a_score_once_it_wrote_its_column(tmp_path, names, head, expected):
    (tmp_path / "metrics.csv").write_text(f"{head}\n10,5\n")
    assert search.scores(tmp_path, names) == expected


@pytest.mark.parametrize(
    ("word", "log"),
    [("gamma=0.01:0.9", True), ("gamma=0.1:0.9", False), ("hidden=4:8", False),
     ("hidden=4:80", True)],
)  # fmt: skip
def test_of_a_wide_range_the_logarithm_is_drawn(word, log):
    (drawn,) = search.read_space(SweepConfig(agent="toy", search=(word,))).values()
    assert drawn.log == log


def test_runs_side_by_side_try_different_values(played):
    search_for("--trials", "2", "--jobs", "2")
    assert len({gamma for _, gamma in played}) == 2


def test_values_that_failed_are_not_drawn_again(played, monkeypatch):
    play, tried = search.play, []

    def fail(study, cell, out, *, threads, stopping):
        play(study, cell, out, threads=threads, stopping=stopping)
        tried.append(played[-1][1])
        if len(tried) % 2:
            raise UserError("diverged")

    monkeypatch.setattr(search, "play", fail)
    for _ in range(2):
        with pytest.raises(SystemExit):
            search_for("--trials", "3")
    assert len(tried) == len(set(tried)) > 3


def test_values_may_follow_a_comma_and_a_space(played):
    search_for("--trials", "3", space="gamma=0.9, 0.99")
    assert {run["values"]["gamma"] for run in runs().values()} <= {"0.9", "0.99"}


def runs():
    return {run["run"]: run for run in read_result(search.Path("runs/result.json"))["runs"]}


def test_good_values_are_found_and_bad_runs_stopped(played, capsys):
    search_for("--trials", "14")
    found = list(runs().values())
    assert len(found) == len(played) == 14
    assert found[0]["score"] == max(run["values"]["gamma"] for run in found) > 0.7
    stopped = [run for run in found if not run["whole"]]
    assert stopped and all(run["values"]["gamma"] < 0.3 for run in stopped)
    assert capsys.readouterr().out.count("stopped early") == len(stopped)


def test_an_interrupted_search_goes_on_as_it_would_have(played, monkeypatch):
    search_for("--trials", "6")
    whole = [*played]
    played.clear()
    summary = search.summary

    def stop(name, values, score):
        if name == "trial-002":
            raise KeyboardInterrupt
        return summary(name, values, score)

    monkeypatch.setattr(search, "summary", stop)
    with pytest.raises(SystemExit):
        search_for("--trials", "6", out="again")
    monkeypatch.setattr(search, "summary", summary)
    search_for("--trials", "6", out="again")
    assert [gamma for _, gamma in played] == [gamma for _, gamma in whole]


def test_a_run_that_was_interrupted_is_resumed(played, monkeypatch):
    play = search.play

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "play", interrupt)
    with pytest.raises(SystemExit):
        search_for("--trials", "3")
    monkeypatch.setattr(search, "play", play)
    search_for("--trials", "3")
    assert sorted(runs()) == ["trial-000", "trial-002", "trial-003"]
    assert played[0][0] == "trial-000/all-0"


def test_the_agents_own_runs_are_searched():
    search_for("--trials", "3", "--jobs", "2")
    assert all(run["score"] == pytest.approx(6.0) for run in runs().values())  # the last rows' mean


def test_another_search_or_one_of_another_version_is_not_gone_on_with(played, refused):
    search_for("--trials", "1")
    said = refused(search_for, space="gamma=0.2:0.9")
    assert "was begun with search" in said and "another --out" in said
    path = search.Path("runs/search.json")
    store(path, {**read_result(path), "former": 1})
    assert "was begun with former 1" in refused(search_for, "--trials", "1")


def test_a_search_goes_on_after_a_kill_or_a_full_disk_in_the_midst_of_its_log(played, tmp_path):
    search_for("--trials", "1")
    log = tmp_path / "runs/trials.log"
    with log.open("a") as file:
        file.write('{"op_code":7,"wor')
    log.with_name("trials.log.lock").symlink_to(log)  # as Optuna has it
    for trials in ("2", "3"):
        search_for("--trials", trials)
    assert len(played) == 3
