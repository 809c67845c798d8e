"""What services are told, by stand-ins for them."""

import sys
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from retro_agents.ground.errors import UserError
from retro_agents.run.tracking import begin


@pytest.fixture
def mlflow(monkeypatch):
    module = Mock()
    module.start_run.return_value.info.run_id = "r7"
    monkeypatch.setitem(sys.modules, "mlflow", module)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return module


def test_mlflow_keeps_to_the_runs_folder_and_is_resumed(mlflow, tmp_path):
    config = {"gamma": 0.9, "run": {"seed": 3}}
    tracker = begin("mlflow", tmp_path, config=config, options="tags=a,b group=g")
    tracker.log({"loss": 0.5}, step=4)
    tracker.finish()
    begin("mlflow", tmp_path, config=config, resumes=True)
    names = [name for name, *_ in mlflow.mock_calls]
    assert names[2:6] == ["start_run", "log_params", "log_metrics", "end_run"]
    mlflow.set_tracking_uri.assert_called_with(f"sqlite:///{tmp_path}/mlflow.db")
    begun, resumed = (call.kwargs for call in mlflow.start_run.call_args_list)
    assert begun["tags"] == {"a": "", "b": "", "group": "g"} and resumed == {"run_id": "r7"}
    mlflow.log_params.assert_called_once_with({"gamma": 0.9, "run.seed": 3})
    assert names[-1] == "start_run"


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
    monkeypatch.setitem(sys.modules, "mine", mine := Mock())
    tracker = begin("mine:begin", tmp_path, config={"a": 1}, options="group=g", resumes=True)
    mine.begin.assert_called_once_with(tmp_path, {"a": 1}, {"group": "g"}, True)
    assert tracker is mine.begin.return_value


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("nobody.there:begin", "", "No module named 'nobody'"),
        ("sys:nothing", "", "does not begin"),
        ("trackio", "", r"does not begin \(no key \(no-tty\)\): log in to it, or give --track ''"),
        ("mlflow", "entity=us", "mlflow takes only project, group, tags"),
        ("mlflow", "group=a group=b", "each key once"),
        ("trackio", "mode=offline", "trackio takes only project, group"),
    ],
)
def test_what_cannot_begin_is_one_line(name, options, says, mlflow, monkeypatch, tmp_path):
    trackio = Mock(init=Mock(side_effect=RuntimeError("no key\n(no-tty)")))
    monkeypatch.setitem(sys.modules, "trackio", trackio)
    with pytest.raises(UserError, match=says):
        begin(name, tmp_path, config={}, options=options)
