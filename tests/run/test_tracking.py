"""What services are told, by stand-ins for them."""

import sys
from types import SimpleNamespace

import pytest

from retro_agents.ground.errors import UserError
from retro_agents.run.tracking import begin


@pytest.fixture
def mlflow(monkeypatch):
    said = []

    def note(name, answer=None):
        def call(*words, **values):
            said.append((name, *words, *values.items()))
            return answer

        return call

    begun = SimpleNamespace(info=SimpleNamespace(run_id="r7"))
    names = ("set_tracking_uri", "set_experiment", "log_params", "log_metrics", "end_run")
    calls = {name: note(name) for name in names} | {"start_run": note("start_run", begun)}
    monkeypatch.setitem(sys.modules, "mlflow", SimpleNamespace(**calls))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return said


def test_mlflow_keeps_to_the_runs_folder_and_is_resumed(mlflow, tmp_path):
    config = {"gamma": 0.9, "run": {"seed": 3}}
    tracker = begin("mlflow", tmp_path, config=config, options="tags=a,b group=g")
    tracker.log({"loss": 0.5}, step=4)
    tracker.finish()
    begin("mlflow", tmp_path, config=config, resumes=True)
    names = [name for name, *_ in mlflow]
    assert names[2:6] == ["start_run", "log_params", "log_metrics", "end_run"]
    assert mlflow[0][1] == f"sqlite:///{tmp_path}/mlflow.db"
    assert mlflow[2][2] == ("tags", {"a": "", "b": "", "group": "g"})
    assert mlflow[3][1] == {"gamma": 0.9, "run.seed": 3}
    assert mlflow[-1] == ("start_run", ("run_id", "r7"))


def test_trackio_resumes_the_run_of_the_folder_and_not_of_another_of_its_name(
    monkeypatch, tmp_path
):
    said = []
    init = SimpleNamespace(init=lambda **values: said.append((values["name"], values["resume"])))
    monkeypatch.setitem(sys.modules, "trackio", init)
    for cell in ("a", "b"):
        (tmp_path / cell / "all-0").mkdir(parents=True)
        begin("trackio", tmp_path / cell / "all-0", config={})
    begin("trackio", tmp_path / "b" / "all-0", config={}, resumes=True)
    (first, _), (second, _), again = said
    assert again == (second, "allow") and second != first and second.startswith("all-0-")


def test_ones_own_logger_is_begun_and_told(tmp_path, monkeypatch):
    def mine(run_dir, config, options, resumes):
        return SimpleNamespace(log=print, finish=print, was=(run_dir, config, options, resumes))

    monkeypatch.setitem(sys.modules, "mine", SimpleNamespace(begin=mine))
    tracker = begin("mine:begin", tmp_path, config={"a": 1}, options="group=g", resumes=True)
    assert tracker.was == (tmp_path, {"a": 1}, {"group": "g"}, True)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("nobody.there:begin", "", "No module named 'nobody'"),
        ("sys:nothing", "", "does not begin"),
        ("trackio", "", "log in to it, or give --track ''"),
        ("mlflow", "entity=us", "mlflow takes only project, group, tags"),
        ("trackio", "mode=offline", "trackio takes only project, group"),
    ],
)
def test_what_cannot_begin_is_one_line(name, options, says, mlflow, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "trackio", SimpleNamespace())
    with pytest.raises(UserError, match=says):
        begin(name, tmp_path, config={}, options=options)
