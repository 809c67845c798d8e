"""Rainbow with actors in processes of Ray, on the free game."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import rainbow.train
from experience.replay import FINAL
from experiment.arrays import whole
from experiment.checkpoint import load_checkpoint
from experiment.config import replaced
from experiment.metrics import read_columns
from rainbow.config import RainbowConfig
from rainbow.learner import epsilon_ladder
from rainbow.play import Player
from rainbow.train import Training, run
from tests.runs import ROOT, as_words, kill_an_actor, kill_at

LEVEL = "BrambleDash-Genesis-v0:BrambleWood.Act1"
FLAGS = {
    "levels": f"{LEVEL},{LEVEL[:-1]}2",
    "timesteps": 128,
    "num_envs": 2,
    "device": "cpu",
    "torch_threads": 1,
    "image_height": 36,
    "image_width": 36,
    "hidden": 16,
    "encoder": "data-efficient",
    "replay_size": 1000,
    "learning_starts": 20,
    "log_every": 16,
    "target_every": 32,
    "rotate_every": 10,
    "checkpoint_every": 32,
    "block_steps": 4,
}
QUICK = replaced(RainbowConfig(), **FLAGS)
APE_X = {
    "noisy": False,
    "epsilon_start": 0.4,
    "epsilon_final": 0.4,
    "epsilon_ladder": 7.0,
    "initial_priorities": True,
}


def with_actors(ray_address, actors, **flags):
    return replaced(QUICK, actors=actors, ray_address=ray_address, **flags)


def test_one_actor_that_sends_single_steps_equals_none(ray_address, tmp_path):
    words = as_words({**FLAGS, "epsilon_steps": 100, "run_dir": tmp_path / "none"})
    at = words.index("--block_steps")  # is for actors
    # Noise would be of another stream of draws.
    rainbow.train.main([*words[:at], *words[at + 2 :], "--no-noisy"])
    config = with_actors(ray_address, 1, noisy=False, epsilon_steps=100, block_steps=1)
    run(None, config, tmp_path / "one")
    none, one = (load_checkpoint(tmp_path / name) for name in ("none", "one"))
    assert none.counters == one.counters and none.counters["updates"] > 20
    for name, tensor in none.tensors["net"].items():
        assert torch.equal(tensor, one.tensors["net"][name]), name
    for name in none.arrays:
        np.testing.assert_array_equal(whole(none.arrays, name), whole(one.arrays, name), name)
    table, other = (read_columns(tmp_path / name / "metrics.csv") for name in ("none", "one"))
    assert set(other) - set(table) == {"policy_lag", "actor_restarts"}
    for name, values in table.items():
        np.testing.assert_array_equal(values, other[name], name)
    episodes = [(tmp_path / name / "episodes.csv").read_text() for name in ("none", "one")]
    assert episodes[0] == episodes[1] and episodes[0].count("\n") > 10


def test_blocks_make_one_replay_whoever_plays_them():
    """Each row keeps its own trail, its rung of the ladder, and the losses as the learner's."""
    config = replaced(QUICK, num_envs=4, actors=2, n_step=5, **APE_X)
    training, rates = Training(config, 4), []
    players = [Player(config, index, begun) for index, begun in ((0, 0), (1, 0), (0, 7))]
    for player in players:

        def act(obs, *, epsilon, real=player.training.agent.act, **options):
            rates.append(epsilon)
            return real(obs, epsilon=epsilon, **options)

        player.training.agent.act = act
    weights = training.agent.arrays()
    order = (0, 1, 1, 0, 1, 2, 1, 2, 2)  # the first actor dies, and another begins in its place
    blocks = [players[turn].play(weights, 8 * number) for number, turn in enumerate(order)]
    for player in players:
        player.here.envs.close()
    for step in (step for block in blocks for step in block):
        training.add(step)
    assert training.env_steps == 8 * len(order)
    ladder = epsilon_ladder(0.4, 4, exponent=7.0)
    for turn, found in zip(np.repeat(order, 4), rates, strict=True):
        np.testing.assert_array_equal(found, ladder[2:] if turn == 1 else ladder[:2])
    drawn = [np.concatenate([step.actions for step in block]) for block in blocks]
    assert not np.array_equal(drawn[0], drawn[1]) and not np.array_equal(drawn[0], drawn[5])

    replay = training.replay
    drawable = np.flatnonzero(replay.tree.leaves)
    batch = replay.gather(drawable, np.ones(len(drawable), np.float32))
    losses = training.learner.priorities(batch).astype(float)
    wanted = (losses + config.priority_epsilon) ** config.priority_alpha
    own = np.isclose(replay.tree.leaves[drawable], wanted, rtol=1e-4)
    # Where the first actor died after 8 steps, nobody computed those that were not complete.
    cut = [ring + slot for ring in (0, replay.slots) for slot in range(1, 7)]
    assert len(drawable) == 56 and drawable[~own].tolist() == cut
    assert np.ptp(wanted) > 1e-3


def test_a_run_goes_on_when_an_actor_was_killed(ray_address, tmp_path, monkeypatch):
    taken = kill_an_actor(monkeypatch, after=4)
    run(None, with_actors(ray_address, 1, n_step=3), tmp_path)
    rows = read_columns(tmp_path / "metrics.csv")
    assert rows["actor_restarts"][-1] == 1 and rows["policy_lag"].max() > 0
    steps = [step for played in taken for step in played.block]
    assert sum(len(step.actions) for step in steps) == 128  # each counted once,
    assert load_checkpoint(tmp_path).counters["env_steps"] == 128
    assert rows["updates"][-1] == (128 - QUICK.learning_starts - 2) // QUICK.update_every
    assert sum(step.begins for step in steps) == 2
    saved = load_checkpoint(tmp_path).arrays
    actions = whole(saved, "actions")[whole(saved, "ends") != FINAL]
    wanted = [[step.actions[row] for step in steps] for row in (0, 1)]
    second = [step.begins for step in steps].index(True, 1)
    for row in wanted:  # and remembered once, but for the newest of each episode that was cut
        if not (steps[second - 1].terminated | steps[second - 1].truncated)[wanted.index(row)]:
            row.pop(second - 1)
    np.testing.assert_array_equal(actions, np.concatenate(wanted))


def test_a_run_of_actors_goes_on_without_and_the_other_way_round(ray_address, tmp_path, capsys):
    run(None, with_actors(ray_address, 1, timesteps=48, run_dir=str(tmp_path)), tmp_path)
    more = ["--run-dir", str(tmp_path), "--resume", "--timesteps"]
    rainbow.train.main([*more, "64", "--actors", "0", "--ray-address", ""])
    assert "new episodes begin" in capsys.readouterr().err
    rainbow.train.main([*more, "80"])
    assert "new episodes begin" not in capsys.readouterr().err
    run(None, with_actors(ray_address, 2, timesteps=96, resume=True), tmp_path)
    assert "new episodes begin" in capsys.readouterr().err
    saved = load_checkpoint(tmp_path)
    assert saved.counters["env_steps"] == 96
    ends = whole(saved.arrays, "ends")
    assert 96 - 4 <= (ends != FINAL).sum() < 96  # the newest slots of what was cut have no action


@pytest.mark.slow
def test_a_learner_that_was_killed_goes_on_from_its_checkpoint(ray_address, tmp_path):
    flags = as_words({**FLAGS, "timesteps": 3200, "actors": 2, "ray_address": ray_address})
    command = [sys.executable, "-m", "rainbow.train"]
    kill_at(64, [*command, *flags, "--run-dir", str(tmp_path)], tmp_path)
    saved = load_checkpoint(tmp_path)
    reached = saved.counters
    assert 64 <= reached["env_steps"] < 3200
    training = Training(with_actors(ray_address, 2, resume=True), 2)
    assert training.restore(tmp_path, None) is None
    for name, tensor in training.agent.net.state_dict().items():
        assert torch.equal(tensor, saved.tensors["net"][name])
    for name in saved.arrays:
        np.testing.assert_array_equal(
            whole(saved.arrays, name), whole(training.replay.arrays(), name), name
        )
    assert training.counters() == reached
    steps = reached["env_steps"] + 64
    more = [*command, "--run-dir", str(tmp_path), "--resume", "--timesteps", str(steps)]
    done = subprocess.run(more, cwd=ROOT, check=True, capture_output=True, text=True)
    assert "new episodes begin" in done.stderr
    assert load_checkpoint(tmp_path).counters["env_steps"] == steps
    rows = read_columns(tmp_path / "metrics.csv")
    assert (np.diff(rows["step"]) > 0).all() and (np.diff(rows["updates"]) > 0).all()
