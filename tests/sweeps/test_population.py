"""What a population does to its runs, and one on Ray itself."""

import itertools
import json
import shutil
import signal
import sys
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
import torch

from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.folder import alone_in
from retro_agents.sweeps.config import SweepConfig
from retro_agents.sweeps.population import (
    WORST,
    begin,
    clamped,
    read_ranges,
    report,
    run,
    train,
    tuner,
)
from tests.sweeps.growing import REPORTS, grows


def population(*ranges: str, **fields) -> SweepConfig:
    return SweepConfig(agent="toy", pbt=ranges, engine="ray", **fields)


def test_new_values_stay_in_their_ranges():
    ranges = {"gamma": (0.9, 0.999), "rate": (1e-5, 1e-3)}
    assert clamped({"gamma": 1.188, "rate": 1e-6}, ranges) == {"gamma": 0.999, "rate": 1e-5}
    assert clamped({"gamma": 0.95, "rate": 1e-4}, ranges) == {"gamma": 0.95, "rate": 1e-4}


def test_ranges_are_read():
    assert read_ranges(population("gamma=0.9:0.999")) == {"gamma": (0.9, 0.999)}
    whole = SweepConfig(agent="ppo2", pbt=("epochs=1:4",), engine="ray")
    assert read_ranges(whole) == {"epochs": (1.0, 4.0)}


SHARED = "runs that .* must share it"


@pytest.mark.parametrize(
    ("agent", "flags", "word", "says"),
    [
        ("toy", "", "gamma=0.9:1.2", "gamma"),  # a share
        ("toy", "", "gamma=0.9", "LOW:HIGH"),
        ("toy", "", "gamma=0.9:0.8", "LOW:HIGH"),
        ("toy", "", "gamma=0.9:inf", "LOW:HIGH"),
        ("ppo2", "", "epochs=1:inf", "LOW:HIGH"),
        ("toy", "", "gama=0:1", "gamma"),
        ("toy", "", "seed=0:9", "itself"),
        ("es", "", "seeds=1:2", "ppo2"),  # it does not report its checkpoints
        ("ppo2", "", "minibatches=4:8", r"minibatches: 5 may be drawn, but .* multiple"),
        ("impala", "--actors 2 --num-envs 4", "gamma=0.9:0.99", "take no --actors"),
        ("ppo2", "--track wandb", "gamma=0.9:0.99", "take no --track"),
        ("ppo2", "--num-checkpoints 5", "gamma=0.9:0.99", "take no --num-checkpoints"),
        ("ppo2", "--checkpoint-every 9", "gamma=0.9:0.99", "the sweep itself sets that"),
        ("ppo2", "--num-envs 0", "gamma=0.9:0.99", "need a number of environments"),
        # What a checkpoint fixes is no value to move.
        ("ppo2", "", "num_envs=2:4", SHARED),
        ("ppo2", "", "timesteps=100:200", SHARED),
        ("ppo2", "", "frame_skip=2:4", SHARED),
        ("ppo2", "", "evaluate_every=1000:2000", SHARED),
        ("ppo2", "", "sequence_steps=1:4", SHARED),
        ("ppo2", "", "hidden=64:128", SHARED),
        ("ppo2", "", "num_checkpoints=1:4", SHARED),
        ("ppo2", "--levels procgen:starpilot", "num_levels=10:100", SHARED),
        ("trpo", "", "rollout_steps=64:128", SHARED),
        ("impala", "", "rollout_steps=64:128", SHARED),
        ("impala", "", "batch_size=1024:2048", SHARED),
        ("impala", "", "actors=1:2", SHARED),
        ("sac", "", "temperature=0.1:1", SHARED),
        ("rainbow", "", "sigma0=0.1:1", SHARED),
    ],
)
def test_what_no_population_can_have_is_refused(agent, flags, word, says):
    config = SweepConfig(agent=agent, flags=flags, pbt=(word,), engine="ray")
    with pytest.raises(UserError, match=says):
        read_ranges(config)


def test_a_report_has_what_runs_used_and_no_score_where_no_episode_ended(tmp_path, capsys):
    config = population("hidden=64:128", out=tmp_path)
    (tmp_path / "runs" / "b").mkdir(parents=True)
    row = "step,env,level,r,l,progress,finished\n20,0,BrambleWood.Act1,7.5,5,0.5,0\n"
    (tmp_path / "runs" / "b" / "episodes.csv").write_text(row)
    found = [
        {"trial_id": "a", "score": WORST, "env_steps": 20, "config": {"hidden": 70.2}},
        {"trial_id": "b", "score": 7.5, "env_steps": 40, "config": {"hidden": 100.6}},
    ]
    report(config, {"hidden": (64.0, 128.0)}, found)
    table = (tmp_path / "table.md").read_text()
    assert "| b | 7.5 | 40 | 101 |" in table and "| a |  | 20 | 70 |" in table
    runs = json.loads((tmp_path / "result.json").read_text())["runs"]
    assert [(one["score"], one["values"]["hidden"]) for one in runs] == [(7.5, 101), (None, 70)]


@pytest.fixture
def tuned(monkeypatch):
    """What Ray Tune returns: a list of trials, and errors."""

    class Results(list):
        errors = ()

    results = Results()
    module = "retro_agents.sweeps.population"

    def fit():
        signal.signal(signal.SIGINT, lambda *_: None)  # as Ray Tune does, for good
        return results

    monkeypatch.setattr(f"{module}.tuner", lambda *_: SimpleNamespace(fit=fit))
    monkeypatch.setattr(f"{module}.ray_on", lambda *_, **__: nullcontext())
    monkeypatch.setattr(f"{module}.plot_curves", lambda *_, **__: None)
    return results


def test_runs_that_failed_before_their_first_report_are_said(tuned, tmp_path):
    """Ray has a row of every trial, which holds no score then."""
    tuned.append(SimpleNamespace(metrics={"trial_id": "population_00000"}))
    tuned.errors = ("no such device",)
    with pytest.raises(UserError, match=r"1 of 1 runs failed \(no such device\)"):
        run(population("gamma=0.1:0.9", out=tmp_path))
    assert json.loads((tmp_path / "result.json").read_text())["runs"] == []


def test_an_interrupted_population_says_so(tuned, tmp_path, capsys):
    """Ray Tune ends as if all were done."""
    done = {"trial_id": "a", "score": 1.0, "env_steps": 40, "config": {"gamma": 0.5}}
    tuned += [SimpleNamespace(metrics=done), SimpleNamespace(metrics=None)]
    with pytest.raises(KeyboardInterrupt, match="repeat the command to resume"):
        run(population("gamma=0.1:0.9", out=tmp_path, timesteps=40))
    assert "| a | 1 | 40 |" in capsys.readouterr().out
    tuned.pop()
    run(population("gamma=0.1:0.9", out=tmp_path, timesteps=40))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_population_is_trained_by_one_process_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("retro_agents.ground.files.PATIENCE", 0.0)
    monkeypatch.setattr("retro_agents.sweeps.population.read_ranges", lambda _: {})
    with alone_in(tmp_path), pytest.raises(UserError, match="another process trains"):
        run(population("gamma=0.9:0.99", out=tmp_path))


def test_a_run_of_which_ray_kept_nothing_begins_anew(tmp_path):
    (tmp_path / "run/checkpoints").mkdir(parents=True)
    assert not begin(tmp_path / "run", None) and not (tmp_path / "run").exists()


class Tune:
    """What `train` needs of ray.tune, for one run. Like Ray it copies what is reported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.trial, self.given = "", None
        self.reports: list[dict[str, float]] = []
        self.checkpoints: list[Tune.Kept] = []
        self.Checkpoint = SimpleNamespace(from_directory=Path)

    class Kept(NamedTuple):
        path: Path

        def to_directory(self, path: str) -> None:
            shutil.copytree(self.path, path)

    def get_context(self):
        return SimpleNamespace(get_trial_id=lambda: self.trial)

    def get_checkpoint(self):
        return self.given

    def report(self, found, *, checkpoint):
        kept = self.folder / f"{self.trial}-{len(self.checkpoints)}"
        shutil.copytree(checkpoint, kept)
        self.reports.append(found)
        self.checkpoints.append(self.Kept(kept))


@pytest.fixture
def member(tmp_path, monkeypatch):
    """Plays one run of a population of PPO2, by number -> Tune, with what the run reported."""
    flags = "--num-envs 2 --hidden 16 --encoder data-efficient --image-height 36 --image-width 36"
    flags += " --rollout-steps 16 --minibatches 2 --epochs 1 --episode-steps 10 --torch-threads 1"
    config = SweepConfig(
        agent="ppo2",
        levels="BrambleDash-Genesis-v0:BrambleWood.Act1",
        timesteps=96,
        flags=flags + " --device cpu",
        pbt=("gamma=0.5:0.9", "kl_penalty=0.1:9"),
        engine="ray",
        perturb_every=32,
    )

    plays = itertools.count()

    def play(number, values, given=None):
        tune = Tune(tmp_path / "ray" / str(next(plays)))
        tune.trial, tune.given = f"population_{number:05}", given
        ray = ModuleType("ray")
        ray.tune = tune
        monkeypatch.setitem(sys.modules, "ray", ray)
        monkeypatch.setitem(sys.modules, "ray.tune", tune)
        train(values, config, tmp_path)
        return tune

    return play


def test_a_killed_run_of_a_population_goes_on_from_what_ray_kept(member, tmp_path):
    values = {"gamma": 0.6, "kl_penalty": 0.2}
    whole = member(0, values)
    assert [one["env_steps"] for one in whole.reports] == [32, 64, 96]
    assert all(one["score"] == one["mean_return"] > WORST for one in whole.reports)
    expected = load_checkpoint(whole.checkpoints[-1].path)
    rest = member(0, values, given=whole.checkpoints[0])
    assert [one["env_steps"] for one in rest.reports] == [64, 96]
    found = load_checkpoint(tmp_path / "runs" / "population_00000")
    assert found.state["kl_weight"] == expected.state["kl_weight"]
    assert_same_weights(found, expected)


def test_a_run_that_takes_over_another_has_its_weights_and_values_of_its_own(member):
    better = member(0, {"gamma": 0.6, "kl_penalty": 0.2}).checkpoints[-1]
    taken = member(3, {"gamma": 0.72, "kl_penalty": 8.0}, given=better)
    assert [one["env_steps"] for one in taken.reports] == [96]  # which leaves nothing to learn
    before, after = load_checkpoint(better.path), load_checkpoint(taken.checkpoints[0].path)
    assert_same_weights(before, after)
    assert (before.config["gamma"], after.config["gamma"]) == (0.6, 0.72)
    assert after.state["kl_weight"] == 8.0
    assert [one.config["run"]["seed"] for one in (before, after)] == [0, 3]


def assert_same_weights(one, other):
    for group in ("net", "optimiser"):
        assert one.tensors[group].keys() == other.tensors[group].keys()
        for name, weights in one.tensors[group].items():
            assert torch.equal(weights, other.tensors[group][name]), name


def test_every_report_may_bring_a_perturbation(tmp_path):
    """Runs report at the first end of a rollout after each --perturb-every: 8,192 steps here."""
    pytest.importorskip("ray.tune")
    config = population("gamma=0.1:0.9", population=2, perturb_every=10_000, out=tmp_path)
    ranges = {"gamma": (0.1, 0.9), "hidden": (4.0, 400.0)}
    scheduler = tuner(config, ranges, grows)._local_tuner._tune_config.scheduler
    assert scheduler._perturbation_interval <= 8_192  # which 10,000 would pass over
    draws = scheduler._hyperparam_mutations
    samplers = {name: type(draw.get_sampler()).__name__ for name, draw in draws.items()}
    assert samplers == {"gamma": "_Uniform", "hidden": "_LogUniform"}


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # Ray's own
def test_worse_runs_go_on_from_better_ones_within_the_ranges(tmp_path):
    pytest.importorskip("ray.tune")
    # Ray draws by it: the first gamma is a third of the others.
    np.random.seed(47)  # noqa: NPY002
    out = tmp_path / "out"
    settings = {
        "population": 3,
        "perturb_every": 20,
        "jobs": 2,
        "timesteps": 20 * REPORTS,
        "out": out,
    }
    try:
        run(population("gamma=0.1:0.9", **settings), trainable=grows)
    except UserError as error:
        if "Ray does not start" in str(error):
            pytest.skip(str(error))
        raise
    lines = {}  # run -> (run, gamma) of every step that its weight rests on
    for path in out.glob("runs/*/line"):
        steps = [step.split(":") for step in path.read_text().split()]
        lines[path.parent.name] = [(name, float(gamma)) for name, gamma in steps]
    assert len(lines) == 3 and all(len(line) == REPORTS for line in lines.values())
    assert all(0.1 <= gamma <= 0.9 for line in lines.values() for _, gamma in line)
    order = (out / "order").read_text().split()
    firsts, lasts = zip(*((order.index(n), order[::-1].index(n)) for n in lines), strict=True)
    assert max(firsts) < len(order) - max(lasts)  # all had begun before one had ended
    taken = {name: line for name, line in lines.items() if {one for one, _ in line} != {name}}
    assert taken  # some stand on another one's steps
    result = json.loads((out / "result.json").read_text())["runs"]
    for one in result:
        weight = sum(gamma for _, gamma in lines[one["run"]])
        assert one["score"] == pytest.approx(weight)  # its weights were copied whole
        assert one["values"]["gamma"] == lines[one["run"]][-1][1]
    assert (out / "plot.png").is_file() and result[0]["run"] in (out / "table.md").read_text()
