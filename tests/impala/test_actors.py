"""IMPALA with actors in processes of Ray, on the free game."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import impala.train
from experiment.checkpoint import load_checkpoint
from experiment.config import replaced
from experiment.metrics import read_columns
from impala.config import ImpalaConfig
from impala.play import make_player
from impala.train import run
from impala.training import Training
from tests.runs import ROOT, as_words, kill_an_actor, kill_at

pytest.importorskip("ray")
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
    "rollout_steps": 8,
    "batch_size": 16,
    "rotate_every": 10,
    "checkpoint_every": 32,
}
QUICK = replaced(ImpalaConfig(), **FLAGS)


def with_actors(ray_address, actors, **flags):
    return replaced(QUICK, actors=actors, ray_address=ray_address, **flags)


def test_one_actor_that_waits_equals_none(ray_address, tmp_path):
    impala.train.main([*as_words(FLAGS), "--run-dir", str(tmp_path / "none")])
    run(None, with_actors(ray_address, 1, actor_ahead=0), tmp_path / "one")
    nets = [load_checkpoint(tmp_path / name).tensors["net"] for name in ("none", "one")]
    for name, tensor in nets[0].items():
        assert torch.equal(tensor, nets[1][name]), name
    for table in ("metrics.csv", "episodes.csv"):
        assert (tmp_path / "none" / table).read_text() == (tmp_path / "one" / table).read_text()
    assert len(read_columns(tmp_path / "one/episodes.csv")["r"]) >= 10


def test_actors_share_the_environments_and_draw_differently():
    config = replaced(QUICK, num_envs=4, actors=2)
    players = [make_player(config, index, version) for index, version in ((0, 0), (1, 0), (0, 5))]
    assert [player.first for player in players] == [0, 2, 0]
    weights = {name: t.numpy() for name, t in Training(QUICK).agent.net.state_dict().items()}
    blocks = [player.play(weights, 3) for player in players]
    for player in players:
        player.envs.close()
    assert all(block.env_steps == 16 for block in blocks)
    assert all((block.sequences.versions == 3).all() for block in blocks)
    drawn = [block.sequences.actions for block in blocks]
    assert not any(np.array_equal(drawn[0], other) for other in drawn[1:])
    assert {env for _, env, _ in blocks[1].episodes} <= {2, 3}


def test_a_run_goes_on_when_an_actor_was_killed(ray_address, tmp_path, monkeypatch):
    taken = kill_an_actor(monkeypatch, after=4)
    run(None, with_actors(ray_address, 1, timesteps=256), tmp_path)
    rows = read_columns(tmp_path / "metrics.csv")
    assert rows["actor_restarts"][-1] == 1
    steps = sum(played.block.env_steps for played in taken)
    assert load_checkpoint(tmp_path).counters["env_steps"] == steps  # each counted once,
    assert rows["updates"][-1] == steps // 16  # and learned from once
    images = {played.block.sequences.obs.tobytes() for played in taken}
    assert len(images) == len(taken)  # and none is another's
    assert (rows["policy_lag"] >= 0).all() and rows["policy_lag"].max() > 0


@pytest.mark.slow
def test_a_learner_that_was_killed_goes_on_from_its_checkpoint(ray_address, tmp_path):
    flags = as_words({**FLAGS, "timesteps": 3200, "actors": 2, "ray_address": ray_address})
    command = [sys.executable, "-m", "impala.train"]
    kill_at(64, [*command, *flags, "--run-dir", str(tmp_path)], tmp_path)
    saved = load_checkpoint(tmp_path)
    reached = saved.counters
    assert 64 <= reached["env_steps"] < 3200
    training = Training(with_actors(ray_address, 2, resume=True))
    training.restore(tmp_path)
    for name, tensor in training.agent.net.state_dict().items():
        assert torch.equal(tensor, saved.tensors["net"][name])
    assert (training.env_steps, training.updates) == (reached["env_steps"], reached["updates"])
    more = [*command, "--run-dir", str(tmp_path), "--resume"]
    steps = str(reached["env_steps"] + 64)
    done = subprocess.run(
        [*more, "--timesteps", steps], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert "the actors begin new episodes" in done.stderr
    assert load_checkpoint(tmp_path).counters["env_steps"] >= int(steps)
    rows = read_columns(tmp_path / "metrics.csv")
    assert (np.diff(rows["step"]) > 0).all() and (np.diff(rows["updates"]) > 0).all()


def test_a_run_of_actors_goes_on_without_and_the_other_way_round(ray_address, tmp_path, corridor):
    run(None, with_actors(ray_address, 1, timesteps=32), tmp_path)
    impala.train.main(
        [
            "--run-dir",
            str(tmp_path),
            "--resume",
            "--actors",
            "0",
            "--ray-address",
            "",
            "--timesteps",
            "64",
        ]
    )
    assert load_checkpoint(tmp_path).counters["env_steps"] == 64
    run(None, with_actors(ray_address, 1, timesteps=96, resume=True), tmp_path)
    assert load_checkpoint(tmp_path).counters["env_steps"] >= 96
