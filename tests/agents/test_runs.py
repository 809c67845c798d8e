"""What holds for the runs of every agent: equal, stopped, killed, saved."""

import os
import signal
import subprocess
import sys
from inspect import signature

import numpy as np
import pytest
import torch

from retro_agents.run.agents import find
from retro_agents.run.checkpoint import load_agent, load_checkpoint
from retro_agents.run.command_line import load_run_config
from retro_agents.run.config import replaced, to_dict
from tests.agents.tiny import AGENTS, main, tiny, train, words
from tests.conftest import Corridor
from tests.runs import (
    ROOT,
    Stop,
    assert_same_run,
    family,
    interrupted,
    kill_at,
    stopping,
    what_it_left,
)


@pytest.mark.parametrize("agent", AGENTS)
def test_same_seed_same_run_wherever_it_lies(agent, tmp_path):
    """Checkpoints are the same files, byte by byte."""
    for name, seed in (("one", 0), ("two", 0), ("other", 1)):
        train(agent, tmp_path / name, "--seed", seed, "--run-dir", tmp_path / name)
    assert_same_run(tmp_path / "one", tmp_path / "two")
    one, other = (what_it_left(tmp_path / name) for name in ("one", "other"))
    assert one["metrics.csv"] != other["metrics.csv"]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_run_without_a_step_leaves_a_checkpoint_too(agent, tmp_path):
    train(agent, tmp_path, "--timesteps", "0")
    assert load_checkpoint(tmp_path).counters["env_steps"] == 0


def test_no_run_imports_torchs_compiler(tmp_path):
    """Two seconds of each start. TRPO's derivatives in forward mode need a part of it."""
    agents = [agent for agent in AGENTS if agent != "trpo"]
    code = (
        "import sys; from tests.agents.tiny import train\n"
        f"for agent in {agents}: train(agent, {str(tmp_path)!r} + '/' + agent)\n"
        "print('torch._dynamo' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ran.stdout.splitlines()[-1:] == ["False"], ran.stderr


REPORTING = [name for name in AGENTS if "on_checkpoint" in signature(find(name).run).parameters]


def test_agents_that_populations_train_are_known():
    assert REPORTING == ["impala", "ppo2", "rainbow", "sac", "trpo"]


@pytest.mark.parametrize("agent", REPORTING)
def test_each_checkpoint_is_told_once_it_is_written(agent, tmp_path):
    told = []

    def tell(folder, metrics):
        assert folder == tmp_path and list(metrics) == ["env_steps", "mean_return"]
        assert load_checkpoint(folder).counters["env_steps"] == metrics["env_steps"]
        told.append(metrics["env_steps"])

    config = tiny(agent, "--run-dir", tmp_path)
    find(agent).run(Corridor(2), config, tmp_path, on_checkpoint=tell)
    # Of rollouts of 12 steps, or of steps of 2, those that pass 16, and the end.
    assert told == ([16, 32, 48, 60] if agent in ("rainbow", "sac") else [24, 36, 48, 60])
    kept = sorted(path.name for path in (tmp_path / "checkpoints").iterdir())
    assert kept == ["step-000000048", "step-000000060"]


RECURRENT = ["--recurrent", "lstm", "--recurrent-hidden", "8", "--sequence-steps", "3"]
CURIOUS = ["--novelty", "0.1", "--rnd", "0.1"]
APE_X = ["--no-noisy", "--epsilon-ladder", "7", "--initial-priorities"]
VARIANTS = {
    "impala": [
        ["--recurrent", "lstm", "--recurrent-hidden", "8"],
        ["--replay-batches", "2", "--replay-proportion", "0.7", "--batch-size", "18"],
    ],
    "jerk": [
        ["--preset", "mutating"],
        ["--preset", "recovering", "--reward-scale", "0.02"],
        ["--memory-share", "0"],
    ],
    "ppo2": [RECURRENT, CURIOUS, ["--no-normalise-returns"]],
    "rainbow": [APE_X, ["--replay-size", "40"]],
    "sac": [["--prioritised", "--n-step", "3"]],
    "trpo": [["--update", "penalty", "--critic", "untrained", "--no-normalise-returns"]],
}
"""Flags with which a run has other things to save."""


@pytest.mark.parametrize(
    ("agent", "flags"),
    [(agent, flags) for agent in AGENTS for flags in ([], *VARIANTS.get(agent, []))],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_a_stopped_run_goes_on_exactly(agent, flags, tmp_path):
    train(agent, tmp_path / "whole", *flags)
    with pytest.raises(Stop):
        envs = stopping(Corridor(2), tmp_path / "parts")
        train(agent, tmp_path / "parts", *flags, envs=envs)
    train(agent, tmp_path / "parts", *flags, "--resume")
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_killed_run_goes_on_exactly(agent, tmp_path):
    steps = 1500 if agent == "es" else 300  # long enough to be killed
    longer = ["--timesteps", steps]
    killed = tmp_path / "killed"
    main(agent, words(agent, *longer, "--run-dir", tmp_path / "whole"))
    command = [sys.executable, "-m", f"{agent}.train"]
    kill_at(60, [*command, *words(agent, *longer, "--run-dir", killed)], killed)
    assert load_checkpoint(killed).counters["env_steps"] < steps
    main(agent, ["--run-dir", str(killed), "--resume"])
    assert_same_run(tmp_path / "whole", killed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("agent", AGENTS)
def test_ctrl_c_or_sigterm_saves_and_the_run_goes_on_exactly(agent, number, tmp_path, capsys):
    train(agent, tmp_path / "whole", "--checkpoint-every", "0")
    envs = Corridor(2)
    wait, left = envs.step_wait, [0] * 25

    def step_wait(*args):
        if left and not left.pop() and not left:
            os.kill(os.getpid(), number)
        return wait(*args)

    envs.step_wait = step_wait
    with pytest.raises(KeyboardInterrupt, match=r"--resume continues"):
        train(agent, tmp_path / "parts", "--checkpoint-every", "0", envs=envs)
    assert "saving a checkpoint" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    train(agent, tmp_path / "parts", "--checkpoint-every", "0", "--resume")
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


def test_a_sigterm_to_emulators_too_saves(tmp_path):
    """As clusters send it."""
    flags = words("ppo2", "--backend", "emulator", "--checkpoint-every", "0")
    command = [sys.executable, "-m", "ppo2.train", *flags, "--timesteps", "1000000"]
    command += ["--run-dir", str(tmp_path)]
    said = interrupted(command, tmp_path, number=signal.SIGTERM, told=family)
    assert said.count("interrupted") == 2 and "--resume continues from the last checkpoint" in said
    assert load_checkpoint(tmp_path).counters["env_steps"] > 0


@pytest.mark.parametrize("agent", AGENTS)
def test_a_resumed_run_keeps_its_own_config(agent, tmp_path):
    flags = ["--run-dir", tmp_path, "--frame-skip", "3", "--timesteps", "1"]
    trained, package = train(agent, tmp_path, *flags), find(agent)
    again = ["--run-dir", str(tmp_path), "--resume", "--timesteps", "500"]
    resumed = load_run_config(package.Config, again, presets=package.PRESETS, command="")
    assert resumed == replaced(trained.config, resume=True, timesteps=500)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_saved_agent_acts_alike(agent, tmp_path):
    trained = train(agent, tmp_path / "run")
    trained.save(tmp_path / "alone")
    saved = load_checkpoint(tmp_path / "run")
    agents = [trained, *(load_agent(tmp_path / name) for name in ("run", "alone"))]
    assert {type(one).__module__ for one in agents} == {f"{agent}.agent"}
    built = find(agent).build(saved.config, saved.tensors.get("net"))
    assert to_dict(built.config) == to_dict(agents[1].config)
    strange = np.random.default_rng(0).integers(256, size=(12, 4, 36, 36), dtype=np.uint8)
    obs = np.concatenate([Corridor(4).reset()[0], strange])
    if hasattr(trained, "scores"):
        agents.append(built)
        scores = [one.scores(torch.from_numpy(obs)) for one in agents]
        assert all(torch.equal(scores[0], others) for others in scores[1:])
    for _ in range(3):
        actions, *others = [one.act(obs) for one in agents]
        assert actions.shape == (16,) and actions.dtype == np.int64
        assert actions.min() >= 0 and actions.max() < 7
        for same in others:
            np.testing.assert_array_equal(actions, same)


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_is_built_without_weights(agent):
    built = find(agent).build(to_dict(tiny(agent)))
    obs = np.zeros((3, 4, 36, 36), np.uint8)
    assert built.act(obs).shape == (3,)


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_shown_last_is_the_step_that_the_run_reached(agent, capsys, tmp_path):
    trained = train(agent, tmp_path / "run")
    reached = load_checkpoint(tmp_path / "run").counters["env_steps"]
    assert (
        f"{agent}: {reached:d}/{trained.config.run.timesteps:d} steps"
        in capsys.readouterr().err.splitlines()[-2]
    )
