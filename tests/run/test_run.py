"""The frame of a run, around an agent that only counts."""

from collections import deque
from math import inf, nan
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import gymnasium
import pytest

from retro_agents.ground import processes
from retro_agents.ground.errors import Diverged, UserError
from retro_agents.run.checkpoint import load_checkpoint, save_checkpoint
from retro_agents.run.metrics import read_columns
from retro_agents.run.run import Run, RunState
from retro_agents.run.settings import RunSettings


class Counting(RunState):
    """Saves how many steps it has taken."""

    name, agent, env_steps = "ppo2", None, 0

    def __init__(self, **settings):
        self.config = SimpleNamespace(run=RunSettings(**{"timesteps": 30, **settings}))
        self.saves = 0
        self.recent_returns = deque([1.0, 2.0])

    def start(self, init, envs):
        self.source = init

    def restore(self, saved, envs):
        self.env_steps = saved.counters["env_steps"]

    def save(self, run_dir, envs):
        self.saves += 1
        counters = {"env_steps": self.env_steps}
        save_checkpoint(
            Path(run_dir) / "checkpoints", agent="ppo2", config={}, counters=counters, tensors={}
        )


@pytest.fixture(autouse=True)
def plain_configs(monkeypatch):
    monkeypatch.setattr("retro_agents.run.folder.to_dict", lambda config: {})


def loop(run):
    """Take all steps -> those at which a multiple of ten was due."""
    due = []
    while run.goes_on():
        run.training.env_steps += 3
        due += [run.training.env_steps] if run.due(10) else []
        run.after([], {"steps": float(run.training.env_steps)})
    return due


def test_a_multiple_is_due_once(tmp_path):
    with Run(Counting(), None, tmp_path) as run:
        assert loop(run) == [12, 21, 30] and not run.due(0)
    assert read_columns(tmp_path / "metrics.csv")["steps"].tolist() == [*range(3, 31, 3)]


def test_the_last_line_says_what_to_do_where_nothing_was_learned(tmp_path, monkeypatch, capsys):
    for needs, resume, says in [
        ("", False, "ppo2: no episode has ended yet; the run"),
        ("", True, "ppo2: to train it further, give a larger --timesteps; the run"),
        ("9 steps", True, "ppo2: nothing was learned yet, as the first update needs 9 steps: give"),
    ]:
        monkeypatch.setattr(Counting, "learns_from", needs)
        with Run(Counting(resume=resume), None, tmp_path) as run:
            loop(run)
        assert capsys.readouterr().err.splitlines()[-1].startswith(says)


@pytest.mark.parametrize(("every", "saved"), [(10, [12, 21, 30]), (20, [21, 30]), (0, [30])])
def test_no_step_has_two_checkpoints(tmp_path, every, saved):
    told = []

    def tell(folder, metrics):
        assert load_checkpoint(folder).counters["env_steps"] == metrics["env_steps"]
        told.append(metrics)

    training = Counting(checkpoint_every=every)
    with Run(training, None, tmp_path, on_checkpoint=tell) as run:
        loop(run)
    assert [metrics["env_steps"] for metrics in told] == saved and training.saves == len(saved)
    assert told[0]["mean_return"] == 1.5
    again = Counting(resume=True)
    with Run(again, None, tmp_path) as run:
        assert again.env_steps == 30 and not run.goes_on()
    assert again.saves == 1  # with its own config


def test_the_last_line_knows_the_last_episodes(tmp_path, capsys):
    training = Counting()
    with Run(training, None, tmp_path) as run:
        run.after([], {"mean_return": 1.5})
        training.recent_returns.append(9.0)
        training.env_steps = 30
        run.after([], {})
    (line,) = (one for one in capsys.readouterr().err.splitlines() if "30/30 steps" in one)
    assert line.endswith("mean_return 4")


def test_environments_of_another_library_are_refused(tmp_path):
    with pytest.raises(UserError, match="CartPoleVectorEnv has no env_spec"):
        Run(Counting(), gymnasium.make_vec("CartPole-v1", num_envs=1), tmp_path)


def test_a_run_that_fails_saves_nothing_but_where_its_actors_are_gone(tmp_path):
    for name, envs in (("here", SimpleNamespace(env_spec="")), ("elsewhere", None)):
        with pytest.raises(UserError, match="gone"), Run(Counting(), envs, tmp_path / name):
            raise UserError("Ray is gone")
        assert any((tmp_path / name / "checkpoints").iterdir()) == (envs is None)


@pytest.mark.parametrize("loss", [nan, inf])
def test_learning_that_diverges_ends_the_run_and_keeps_the_last_checkpoint(tmp_path, loss):
    """Also where actors play elsewhere, whose end alone would save one more."""
    last = tmp_path / "checkpoints/step-000000010"
    way_out = rf"loss is {loss}; start a new run from the last good checkpoint, --init {last}"
    training = Counting(checkpoint_every=10)
    with pytest.raises(Diverged, match=way_out), Run(training, None, tmp_path) as run:
        for training.env_steps in (10, 20):
            run.after([], {"mean_return": nan, "loss": 1.0 if training.env_steps == 10 else loss})
    assert [*last.parent.iterdir()] == [last]
    assert read_columns(tmp_path / "metrics.csv")["step"].tolist() == [10.0, 20.0]


def test_only_the_first_process_writes_and_judges(tmp_path):
    training = Counting()
    training.rank, training.size = 1, 2
    training.save = lambda *_: None
    tell = Mock(side_effect=AssertionError)
    with Run(training, None, tmp_path / "run", judge=None, on_checkpoint=tell) as run:
        run.after([], {"steps": 1.0})
        run.show(1)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("rank", "waits"), [("0", []), ("1", [processes.ALIKE])])
def test_processes_of_an_agent_that_trains_in_one_are_refused(rank, waits, tmp_path, monkeypatch):
    """The others let the first one say so."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", rank)
    waited = []
    monkeypatch.setattr(processes.time, "sleep", waited.append)
    with pytest.raises(UserError, match="WORLD_SIZE is 2, but ppo2 trains in one process"):
        Run(Counting(), None, tmp_path / "run")
    assert not (tmp_path / "run").exists() and waited == waits


def test_processes_that_do_not_share_their_folder_do_not_begin_what_others_resume(tmp_path):
    training = Counting(auto_resume=True)
    training.any = lambda here: True  # that of the others
    with pytest.raises(UserError, match="give one folder that all machines share"):
        Run(training, None, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_what_is_judged_stands_in_the_row_and_makes_one(tmp_path):
    judge = lambda run: {"seeing": 1.0} if run.due(20) else {}  # noqa: E731
    training = Counting()
    with Run(training, None, tmp_path, judge=judge) as run:
        for training.env_steps in (10, 20, 30):
            run.after([], {}, restarts=7.0)
    columns = read_columns(tmp_path / "metrics.csv")
    assert {name: column.tolist() for name, column in columns.items()} == {
        "step": [20.0],
        "seeing": [1.0],
        "restarts": [7.0],
    }
