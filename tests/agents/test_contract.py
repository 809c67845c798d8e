"""What holds for every agent package: a folder with an agent.py at the top of the repository."""

import dataclasses
import importlib
import inspect
import json
import re
from pathlib import Path

import numpy as np
import pytest

from experiment.checkpoint import latest_checkpoint, load_agent, load_checkpoint
from experiment.config import load_config, preset_names, subset
from retro_env import EnvConfig, make_vec, parse_levels

ROOT = Path(__file__).parents[2]
AGENTS = sorted(path.parent.name for path in ROOT.glob("*/agent.py"))
SHARED_FLAGS = {
    *("levels", "timesteps", "num_envs", "rotate_every", "run_dir"),
    *("resume", "init", "seed", "device"),
}
LEVEL = "BrambleDash-Genesis-v0:BrambleWood.Act1"
TINY = [
    *("--levels", LEVEL, "--num-envs", "2", "--timesteps", "60", "--device", "cpu"),
    *("--image-height", "36", "--image-width", "36", "--hidden", "16"),
]
TOO = {
    "es": ["--episode-steps", "5", "--pairs", "2"],
    "ppo2": ["--rollout-steps", "8"],
}
"""What an agent needs besides, to learn within so few steps."""


def config_class(agent):
    module = importlib.import_module(f"{agent}.config")
    classes = [c for _, c in inspect.getmembers(module, dataclasses.is_dataclass)]
    (found,) = [c for c in classes if c.__module__ == module.__name__]
    return found


def tiny_config(agent):
    return load_config(
        config_class(agent),
        [*TINY, *TOO.get(agent, [])],
        presets=ROOT / agent / "presets",
        command=f"{agent}.train",
    )


def train(agent, run_dir, seed=0):
    config = dataclasses.replace(tiny_config(agent), seed=seed)
    envs = make_vec(parse_levels(LEVEL), num_envs=2, config=subset(config, EnvConfig), seed=seed)
    try:
        return importlib.import_module(f"{agent}.train").run(envs, config, run_dir)
    finally:
        envs.close()


def checkpoint_files(run_dir):
    """SHA-256 of what a run's last checkpoint holds, but for its config, which names the seed."""
    meta = json.loads((latest_checkpoint(run_dir) / "meta.json").read_text())
    return {name: file["sha256"] for name, file in meta["files"].items() if name != "config.json"}


def test_agents_are_found():
    assert {"es", "jerk", "rainbow", "ppo2"} <= set(AGENTS)


@pytest.mark.parametrize("agent", AGENTS)
def test_package_has_the_six_files(agent):
    for name in ("README.md", "config.py", "agent.py", "memory.py", "learner.py", "train.py"):
        assert (ROOT / agent / name).is_file(), name


@pytest.mark.parametrize("agent", AGENTS)
def test_config_has_the_shared_flags_and_a_text_for_every_field(agent):
    cls = config_class(agent)
    assert cls.__dataclass_params__.frozen
    names = {field.name for field in dataclasses.fields(cls)}
    assert names >= SHARED_FLAGS
    sources = [inspect.getsource(c) for c in cls.__mro__ if dataclasses.is_dataclass(c)]
    for name in names:
        explained = re.compile(rf'\n    {name}: .*\n    """')
        assert any(map(explained.search, sources)), f"{agent}: {name} is not explained"


@pytest.mark.parametrize("agent", AGENTS)
def test_environment_fields_agree_with_the_environments_own(agent):
    defaults = {field.name: field.default for field in dataclasses.fields(config_class(agent))}
    for field in dataclasses.fields(EnvConfig):
        assert defaults[field.name] == field.default, field.name


@pytest.mark.parametrize("agent", AGENTS)
def test_every_preset_loads(agent):
    for name in preset_names(ROOT / agent / "presets"):
        load_config(
            config_class(agent), ["--preset", name], presets=ROOT / agent / "presets", command=""
        )


@pytest.mark.parametrize("agent", AGENTS)
def test_trained_agent_acts_and_comes_back_from_its_checkpoint(agent, tmp_path):
    trained = train(agent, tmp_path / "run")
    obs = np.random.default_rng(0).integers(256, size=(16, 4, 36, 36), dtype=np.uint8)
    actions = trained.act(obs)
    assert actions.shape == (16,) and actions.dtype == np.int64
    assert actions.min() >= 0 and actions.max() < 7
    trained.save(tmp_path / "alone")
    for folder in ("run", "alone"):
        np.testing.assert_array_equal(load_agent(tmp_path / folder).act(obs), actions)


@pytest.mark.parametrize("agent", AGENTS)
def test_same_seed_same_run(agent, tmp_path):
    for name, seed in (("one", 0), ("two", 0), ("other", 1)):
        train(agent, tmp_path / name, seed=seed)
    metrics = {n: (tmp_path / n / "metrics.csv").read_text() for n in ("one", "two")}
    assert metrics["one"] == metrics["two"]
    files = {name: checkpoint_files(tmp_path / name) for name in ("one", "two", "other")}
    assert files["one"] == files["two"] != files["other"]


def refused(agent, capsys, *flags):
    """What the command line answers to bad input: one line, exit code 2."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        importlib.import_module(f"{agent}.train").main([*TINY, *TOO.get(agent, []), *flags])
    said = capsys.readouterr().err.strip()
    assert stop.value.code == 2, said
    assert "\n" not in said and "Traceback" not in said, said
    return said


@pytest.fixture
def cut_off(tmp_path):
    """A checkpoint whose weights were only half written."""
    train("ppo2", tmp_path / "run")
    folder = latest_checkpoint(tmp_path / "run")
    weights = max(folder.iterdir(), key=lambda file: file.stat().st_size)
    weights.write_bytes(weights.read_bytes()[:1000])
    return folder


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--levels", "BrambleDash-Genesis-v0:Nowhere"], "Nowhere"),
        (["--levels", "no-such-split"], "no-such-split"),
        (["--timestep", "5"], "--timesteps"),
        (["--num-envs", "many"], "many"),
        (["--learning-rate", "-1"], "learning"),
        (["--preset", "none-such"], "none-such"),
        (["--init", "no/such/run"], "no/such/run"),
    ],
)
def test_bad_input_is_refused_in_one_line(agent, flags, words, capsys, tmp_path):
    assert words in refused(agent, capsys, "--run-dir", str(tmp_path / "run"), *flags)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_not_there_cannot_be_resumed(agent, capsys, tmp_path):
    assert "nothing" in refused(agent, capsys, "--run-dir", str(tmp_path / "nothing"), "--resume")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_cut_off_checkpoint_is_refused(agent, cut_off, capsys, tmp_path):
    said = refused(agent, capsys, "--init", str(cut_off), "--run-dir", str(tmp_path / "new"))
    assert cut_off.name in said
    assert "damaged" in said or "cut off" in said, said


@pytest.mark.parametrize("agent", AGENTS)
def test_a_run_of_another_agent_is_not_resumed(agent, capsys, tmp_path):
    other = "ppo2" if agent == "rainbow" else "rainbow"
    train(other, tmp_path / "run")
    said = refused(agent, capsys, "--run-dir", str(tmp_path / "run"), "--resume")
    assert "resume it with the agent that began it" in said


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_shown_last_is_the_step_that_the_run_reached(agent, capsys, tmp_path):
    train(agent, tmp_path / "run")
    reached = load_checkpoint(tmp_path / "run").counters["env_steps"]
    assert f"{agent}: {reached:d}/60 steps" in capsys.readouterr().err.splitlines()[-1]
