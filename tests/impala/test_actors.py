"""IMPALA with actors in processes of Ray, on the free game."""

import signal
import sys

import numpy as np
import pytest
import torch

import impala.train
from impala.actors import make_actor
from impala.train import run
from impala.training import Training, make_collector
from retro_agents.run.checkpoint import load_checkpoint, load_to_resume
from retro_agents.run.config import replaced
from retro_agents.run.metrics import read_columns
from tests.agents.tiny import tiny, words
from tests.runs import KILLS, interrupted, kill_actors, killed_runs, learner, raylet

pytest.importorskip("ray")
FLAGS = (
    "--timesteps 128 --torch-threads 1 --rollout-steps 8 --batch-size 16 --rotate-every 10 "
    "--checkpoint-every 32"
)
QUICK = tiny("impala", *FLAGS.split())


def with_actors(ray_address, actors, **flags):
    return replaced(QUICK, actors=actors, ray_address=ray_address, **flags)


def test_one_actor_that_waits_equals_none(ray_address, tmp_path):
    impala.train.main(words("impala", *FLAGS.split(), "--run-dir", tmp_path / "none"))
    run(None, with_actors(ray_address, 1, actor_ahead=0), tmp_path / "one")
    nets = [load_checkpoint(tmp_path / name).tensors["net"] for name in ("none", "one")]
    for name, tensor in nets[0].items():
        assert torch.equal(tensor, nets[1][name]), name
    for table in ("metrics.csv", "episodes.csv"):
        assert (tmp_path / "none" / table).read_text() == (tmp_path / "one" / table).read_text()
    assert len(read_columns(tmp_path / "one/episodes.csv")["r"]) >= 10


def test_actors_share_the_environments_and_draw_differently():
    config = replaced(QUICK, num_envs=4, actors=2)
    actors = [make_actor(config, index, version) for index, version in ((0, 0), (1, 0), (0, 5))]
    assert [actor.first for actor in actors] == [0, 2, 0]
    weights = {name: t.numpy() for name, t in Training(QUICK).agent.net.state_dict().items()}
    blocks = [actor.play(weights, 3) for actor in actors]
    for actor in actors:
        actor.envs.close()
    assert all(block.env_steps == 16 for block in blocks)
    assert all((block.sequences.versions == 3).all() for block in blocks)
    drawn = [block.sequences.actions for block in blocks]
    assert not any(np.array_equal(drawn[0], other) for other in drawn[1:])
    assert {env for _, env, _ in blocks[1].episodes} <= {2, 3}


@pytest.mark.timeout(300 * KILLS)
def test_a_run_goes_on_when_an_actor_was_killed(ray_address, tmp_path, monkeypatch):
    taken = kill_actors(monkeypatch, after=4)
    run(None, with_actors(ray_address, 1, timesteps=128 * (KILLS + 1)), tmp_path)
    rows = read_columns(tmp_path / "metrics.csv")
    assert rows["actor_restarts"][-1] == KILLS
    steps = sum(played.block.env_steps for played in taken)
    assert load_checkpoint(tmp_path).counters["env_steps"] == steps  # each counted once,
    assert rows["updates"][-1] == steps // 16  # and learned from once
    blocks = [played.block.sequences for played in taken]
    told = {block.obs.tobytes() + block.logp.tobytes() for block in blocks}
    assert len(told) == len(taken)  # and none is another's
    assert (rows["policy_lag"] >= 0).all() and rows["policy_lag"].max() > 0


@pytest.mark.slow
def test_a_run_of_actors_that_is_told_to_end_saves(tmp_path):
    """By SIGTERM, to which Ray has an answer of its own."""
    own = ["--actors", 1, "--timesteps", 10**6, "--checkpoint-every", 0, "--run-dir", tmp_path]
    command = [sys.executable, "-m", "impala.train", *words("impala", *FLAGS.split(), *own)]
    said = interrupted(command, tmp_path, number=signal.SIGTERM)
    assert "--resume continues from the last checkpoint" in said
    assert load_checkpoint(tmp_path).counters["env_steps"] > 0


@pytest.mark.slow
@pytest.mark.timeout(300 * KILLS)
@pytest.mark.parametrize("victim", [learner, raylet] if KILLS > 1 else [raylet])
def test_a_run_that_was_killed_goes_on_and_counts_every_block_once(
    victim, ray_address, tmp_path, capsys
):
    """The learner's process, or that of a Ray of its own. A block has 24 steps, a batch 16."""
    address = "" if victim is raylet else ray_address
    own = [*FLAGS.split(), "--num-envs", 3, "--actors", 1, "--ray-address", address]
    flags = words("impala", *own, "--timesteps", 10**6)
    command = [sys.executable, "-m", "impala.train"]
    for saved in killed_runs(command, flags, tmp_path, victim=victim):
        training = Training(tiny("impala", *own, "--resume"))
        training.restore(load_to_resume(tmp_path), None)
        for name, tensor in training.agent.net.state_dict().items():
            assert torch.equal(tensor, saved.tensors["net"][name])
        reached = training.env_steps
        assert (reached, training.updates) == tuple(saved.counters.values())
        waiting = sum(part.count for part in training.memory.waiting)
        assert reached == 16 * training.updates + 8 * waiting
    more = ["--resume", "--timesteps", str(reached + 64), "--ray-address", ray_address]
    impala.train.main(["--run-dir", str(tmp_path), *more])
    assert "new episodes begin" in capsys.readouterr().err
    rows = read_columns(tmp_path / "metrics.csv")
    assert rows["step"][-1] == load_checkpoint(tmp_path).counters["env_steps"] >= reached + 64
    np.testing.assert_array_equal(rows["step"], 24 * np.arange(1, len(rows["step"]) + 1))
    np.testing.assert_array_equal(rows["updates"], rows["step"] // 16)


def test_actors_have_the_games_of_their_environments():
    pytest.importorskip("envpool")
    procgen = "--levels procgen:coinrun,bigfish --num-envs 4 --rotate-every 0 --hidden 16"
    config = impala.train.parse([*procgen.split(), "--actors", "2", "--device", "cpu"])
    actors = [make_actor(config, index, 0) for index in range(2)]
    games = [level.partition(":")[0] for actor in actors for level in actor.envs.levels]
    for actor in actors:
        actor.envs.close()
    assert games == ["coinrun", "bigfish"] * 2


def test_what_goes_on_before_its_first_update_plays_no_block_again(
    ray_address, tmp_path, monkeypatch
):
    """A block has half a batch: the first is saved, and not yet learned from."""
    taken = kill_actors(monkeypatch, after=10**6)
    config = with_actors(ray_address, 1, timesteps=16, batch_size=32, rotate_every=0)
    run(None, config, tmp_path)
    assert load_checkpoint(tmp_path).counters == {"env_steps": 16, "updates": 0}
    run(None, replaced(config, timesteps=32, resume=True), tmp_path)
    assert load_checkpoint(tmp_path).counters == {"env_steps": 32, "updates": 1}
    one, other = (played.block.sequences for played in (taken[0], taken[-1]))
    assert not np.array_equal(one.actions, other.actions)


def test_a_player_that_takes_over_from_actors_draws_otherwise_than_they_did():
    agent = Training(QUICK).agent
    seeds = [make_collector(agent, 2, env_steps=steps).env_seeds() for steps in (0, 0, 64)]
    assert seeds[0] == seeds[1] == QUICK.run.seed != seeds[2]


def test_a_run_of_actors_goes_on_without_and_the_other_way_round(ray_address, tmp_path):
    run(None, with_actors(ray_address, 1, timesteps=32), tmp_path)
    flags = ["--actors", "0", "--ray-address", "", "--timesteps", "64", "--resume"]
    impala.train.main(["--run-dir", str(tmp_path), *flags])
    assert load_checkpoint(tmp_path).counters["env_steps"] == 64
    run(None, with_actors(ray_address, 1, timesteps=96, resume=True), tmp_path)
    assert load_checkpoint(tmp_path).counters["env_steps"] >= 96
