"""What holds for the runs of every agent: stopped, killed, prolonged, saved."""

import sys

import numpy as np
import pytest
import torch

from retro_agents.contract.policy import ScoringPolicy
from retro_agents.ground.errors import Diverged
from retro_agents.judging.sight import PLAYS
from retro_agents.run.agents import find
from retro_agents.run.checkpoint import load_agent, load_checkpoint
from retro_agents.run.config import to_dict
from retro_agents.run.metrics import read_columns
from tests.agents.tiny import AGENTS, main, tiny, train, words
from tests.conftest import Corridor
from tests.runs import FORKS, Stop, assert_same_run, kill_at, stopping


def train_all(folder):
    for agent in AGENTS:
        if agent != "trpo":  # whose derivatives in forward mode need a part of the compiler
            train(agent, folder / agent)
    sys.exit("torch._dynamo" in sys.modules)


def test_no_run_imports_torchs_compiler(tmp_path):
    """It would cost two seconds of each start."""
    process = FORKS.Process(target=train_all, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == 0


LOOKERS = ["impala", "ppo2", "rainbow", "sac", "trpo"]
"""Agents that populations train and that are tested while they learn."""


@pytest.mark.parametrize("agent", LOOKERS)
def test_a_run_tells_its_checkpoints_and_is_the_same_with_tests_of_sight(agent, tmp_path):
    tested = ["--sight-every", "20", "--sight-episodes", "2", "--episode-steps", "12"]
    told = []
    tell = lambda _, metrics: told.append(metrics["env_steps"])  # noqa: E731
    find(agent).run(Corridor(2), tiny(agent, *tested), tmp_path / "with", on_checkpoint=tell)
    # Of rollouts of 12 steps, or of steps of 2, those that pass 16, and the end.
    assert told == ([16, 32, 48, 60] if agent in ("rainbow", "sac") else [24, 36, 48, 60])
    train(agent, tmp_path / "without", "--episode-steps", "12")
    ours, plain = (read_columns(tmp_path / name / "metrics.csv") for name in ("with", "without"))
    figures = np.array([ours.pop(f"sight/{play}") for play in PLAYS])
    times = np.isfinite(figures).all(axis=0)
    assert times.sum() == 3 and np.isnan(figures[:, ~times]).all()
    assert {int(step // 20) for step in ours["step"][times]} == {1, 2, 3}
    assert ours.keys() == plain.keys()
    for name, column in plain.items():
        np.testing.assert_array_equal(ours[name], column)
    saved = [load_checkpoint(tmp_path / name) for name in ("with", "without")]
    assert saved[0].state == saved[1].state and saved[0].counters == saved[1].counters
    for group, tensors in saved[0].tensors.items():
        for name, tensor in tensors.items():
            np.testing.assert_array_equal(tensor, saved[1].tensors[group][name])


@pytest.mark.parametrize("agent", [*LOOKERS, "es"])
def test_a_run_whose_learning_diverges_ends_in_one_line(agent, tmp_path):
    flags = ["--learning-rate", "1e30", "--timesteps", "400"]
    flags += ["--gradient-norm", "0"] if agent not in ("es", "sac") else []
    with pytest.raises(Diverged, match=r"^learning has diverged: \S+ is (nan|inf); start .*\Z"):
        train(agent, tmp_path, *flags)
    assert all(load_checkpoint(path) for path in tmp_path.glob("checkpoints/*"))


RECURRENT = "--recurrent lstm --recurrent-hidden 8"
PENALISED = (
    "--kl-penalty 0.2 --kl-aim 1e-9 --normalise rollout --convolution-l2 1e-3 --dropout 0.3 "
    "--augment flip,cutout --rnd 0.1 --rnd-kind impala"
)
BTR = "--encoder impala --encoder-parts max-pool,spectral-norm --widths 4,8 --streams separate"
VARIANTS = {
    "impala": [RECURRENT, "--replay-batches 2 --replay-proportion 0.7 --batch-size 18"],
    "jerk": ["--preset mutating", "--preset recovering --reward-scale 0.02", "--memory-share 0"],
    "ppo2": [
        f"{RECURRENT} --sequence-steps 3",
        "--novelty 0.1 --rnd 0.1",
        "--no-normalise-returns",
        PENALISED,
    ],
    "rainbow": [
        "--no-noisy --epsilon-ladder 7 --initial-priorities",
        "--replay-size 40 --update-every 30 --log-every 4",
        f"{BTR} --quantiles 8 --munchausen 0.9 --n-step 3",
    ],
    "sac": ["--prioritised --n-step 3"],
    "trpo": ["--update penalty --critic untrained --no-normalise-returns"],
}
"""Flags with which a run has other things to save."""


@pytest.mark.parametrize(
    ("agent", "flags"), [(agent, f) for agent in AGENTS for f in ("", *VARIANTS.get(agent, []))]
)
def test_a_stopped_run_resumes_exactly(agent, flags, tmp_path):
    train(agent, tmp_path / "whole", *flags.split())
    with pytest.raises(Stop):
        envs = stopping(Corridor(2), tmp_path / "parts")
        train(agent, tmp_path / "parts", *flags.split(), envs=envs)
    train(agent, tmp_path / "parts", *flags.split(), "--resume")
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_killed_run_resumes_exactly(agent, tmp_path):
    """By their commands, on levels of the game."""
    longer = ["--timesteps", 1500 if agent == "es" else 300]  # enough to be killed
    killed = tmp_path / "killed"
    main(agent, words(agent, *longer, "--run-dir", tmp_path / "whole"))
    process = FORKS.Process(target=main, args=(agent, words(agent, *longer, "--run-dir", killed)))
    process.start()
    kill_at(60, process.pid, killed, ended=lambda: process.exitcode)
    process.join()
    assert process.exitcode < 0 and load_checkpoint(killed).counters["env_steps"] < longer[1]
    main(agent, ["--run-dir", killed, "--resume"])
    assert_same_run(tmp_path / "whole", killed)


@pytest.mark.parametrize(
    ("agent", "flags"),
    [
        *(("impala", flags) for flags in ("", "--batch-size 18", RECURRENT)),
        *(("ppo2", flags) for flags in ("", f"{RECURRENT} --sequence-steps 3", PENALISED)),
        ("rainbow", ""),
        ("sac", ""),
        ("trpo", ""),
    ],
)
def test_a_run_that_ended_within_a_rollout_is_prolonged_exactly(agent, flags, tmp_path):
    """As if it had been as long from the start."""
    same = ["--learning-rate-schedule", "constant"] if agent in ("impala", "ppo2") else []
    flags = [*flags.split(), *same, "--checkpoint-every", "0", "--timesteps"]
    train(agent, tmp_path / "whole", *flags, "90")
    train(agent, tmp_path / "parts", *flags, "34")
    train(agent, tmp_path / "parts", *flags, "90", "--resume")
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.parametrize("agent", AGENTS)
def test_a_saved_agent_acts_alike_and_is_built_without_weights(agent, trained, tmp_path):
    one, run_dir = trained(agent)
    one.save(tmp_path)
    saved = load_checkpoint(run_dir)
    agents = [one, *(load_agent(folder) for folder in (run_dir, tmp_path))]
    assert {type(each).__module__ for each in agents} == {f"{agent}.agent"}
    built = find(agent).build(saved.config, saved.tensors.get("net"))
    assert to_dict(built.config) == to_dict(agents[1].config)
    strange = np.random.default_rng(0).integers(256, size=(12, 4, 36, 36), dtype=np.uint8)
    obs = np.concatenate([Corridor(4).reset()[0], strange])
    if isinstance(one, ScoringPolicy):
        agents.append(built)
        scores = [each.scores(torch.from_numpy(obs)) for each in agents]
        assert all(torch.equal(scores[0], others) for others in scores[1:])
    for _ in range(3):
        actions, *others = [each.act(obs, play="best") for each in agents]
        assert actions.shape == (16,) and actions.dtype == np.int64
        assert actions.min() >= 0 and actions.max() < 7
        for same in others:
            np.testing.assert_array_equal(actions, same)
    fresh = find(agent).build(to_dict(tiny(agent)))
    assert fresh.act(obs).shape == (16,) and fresh.act(obs[0]).shape == ()
