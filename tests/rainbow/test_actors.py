"""Rainbow with actors in processes of Ray, on the free game."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import rainbow.train
from rainbow.actors import Actor, ActorSteps
from rainbow.learner import epsilon_ladder
from rainbow.train import run
from rainbow.training import Step, Training
from retro_agents.experience.actors import ActorBlock
from retro_agents.experience.replay import FINAL
from retro_agents.ground.arrays import whole
from retro_agents.run.checkpoint import load_checkpoint, load_to_resume
from retro_agents.run.config import replaced
from retro_agents.run.metrics import read_columns
from tests.agents.tiny import tiny, words
from tests.runs import KILLS, kill_actors, killed_runs, learner, raylet

FLAGS = (
    "--timesteps 128 --torch-threads 1 --replay-size 1000 --learning-starts 20 --log-every 16 "
    "--target-every 32 --rotate-every 10 --checkpoint-every 32"
)
QUICK = replaced(tiny("rainbow", *FLAGS.split()), block_steps=4)
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
    own = ["--no-noisy", "--epsilon-steps", 100]  # noise would be of another stream of draws
    rainbow.train.main(words("rainbow", *FLAGS.split(), *own, "--run-dir", tmp_path / "none"))
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
    actors = [Actor(config, index, start) for index, start in ((0, 0), (1, 0), (0, 7))]
    for actor in actors:

        def act(obs, *, epsilon, real=actor.training.agent.act, **options):
            rates.append(epsilon)
            return real(obs, epsilon=epsilon, **options)

        actor.training.agent.act = act
    weights = training.agent.arrays()
    order = (0, 1, 1, 0, 1, 2, 1, 2, 2)  # the first actor dies, and another begins in its place
    blocks = [actors[turn].play(weights, 8 * number) for number, turn in enumerate(order)]
    for actor in actors:
        actor.local.envs.close()
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
    # Those too that the first actor's death after 8 steps completed.
    np.testing.assert_allclose(replay.tree.leaves[drawable], wanted, rtol=1e-4)
    assert len(drawable) == 56
    assert np.ptp(wanted) > 1e-3


def test_what_follows_a_lost_block_is_no_part_of_what_was_before_it():
    """Its actor's losses then are of steps that the learner never had, too."""
    config = replaced(QUICK, actors=1, n_step=3, episode_steps=6, **APE_X)
    training, alike = Training(config, 2), Training(config, 2)
    actors = [Actor(config, 0, start) for start in (0, 7)]
    weights = training.agent.arrays()
    blocks = [actors[turn].play(weights, 0) for turn in (0, 1, 1)]
    for actor in actors:
        actor.local.envs.close()
    blocks = [blocks[0], blocks[2]]
    actors = SimpleNamespace(
        next=iter([ActorBlock(0, 0, block, follows=False) for block in blocks]).__next__,
        order=lambda actor, version: None,
    )
    taken = ActorSteps(training, actors)
    for _ in range(8):
        training.add(taken.wait())
    for block in blocks:
        for number, step in enumerate(block):
            alike.add(step._replace(begins=not number, losses=None))
    leaves = training.replay.tree.leaves
    np.testing.assert_allclose(leaves, alike.replay.tree.leaves, rtol=1e-4)
    drawable = np.flatnonzero(leaves)
    found, expected = (
        one.replay.gather(drawable, np.ones(len(drawable), np.float32)) for one in (training, alike)
    )
    for name, values in vars(expected).items():
        np.testing.assert_array_equal(np.asarray(getattr(found, name)), np.asarray(values), name)


def test_the_lag_is_that_of_the_weights_that_a_restarted_actor_was_given():
    """The second one died, and the newest weights played what it owed."""
    training = Training(replaced(QUICK, actors=2), 2)
    block = [Step([], [0, 0], *[()] * 5, first=0, begins=False)]
    turns, versions, lags = iter((0, 0, 0, 0, 1)), [0], []
    actors = SimpleNamespace(
        next=lambda: ActorBlock(next(turns), versions[-1], block),
        order=lambda actor, version: versions.append(version),
        restarts=1,
    )
    taken = ActorSteps(training, actors)
    for _ in range(5):
        training.env_steps += len(taken.wait().actions)
        lags.append(taken.summary()["policy_lag"])
        training.updates += 3
    assert lags == [0, 3, 3, 3, 3]


@pytest.mark.timeout(300 * KILLS)
def test_a_run_goes_on_when_an_actor_was_killed(ray_address, tmp_path, monkeypatch):
    taken = kill_actors(monkeypatch, after=4)
    timesteps = 64 * (KILLS + 1)
    run(None, with_actors(ray_address, 1, n_step=3, timesteps=timesteps), tmp_path)
    rows = read_columns(tmp_path / "metrics.csv")
    assert rows["actor_restarts"][-1] == KILLS and rows["policy_lag"].max() > 0
    steps = [step for played in taken for step in played.block]
    assert sum(len(step.actions) for step in steps) == timesteps  # each counted once,
    assert load_checkpoint(tmp_path).counters["env_steps"] == timesteps
    assert rows["updates"][-1] == updates_at(timesteps)
    begins = [number for number, step in enumerate(steps) if step.begins]
    assert len(begins) == KILLS + 1
    saved = load_checkpoint(tmp_path).arrays
    actions = whole(saved, "actions")[whole(saved, "ends") != FINAL]
    # and remembered once, but for the newest of each episode that was cut
    wanted = [
        step.actions[row]
        for row in (0, 1)
        for number, step in enumerate(steps)
        if number + 1 not in begins or step.terminated[row] or step.truncated[row]
    ]
    np.testing.assert_array_equal(actions, wanted)


def updates_at(steps):
    """Updates made after `steps` steps; those that the last one makes due come later."""
    return np.maximum(0, steps - QUICK.learning_starts - QUICK.run.num_envs) // QUICK.update_every


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
@pytest.mark.timeout(300 * KILLS)
@pytest.mark.parametrize("victim", [learner, raylet] if KILLS > 1 else [learner])
def test_a_run_that_was_killed_goes_on_and_counts_every_step_once(
    victim, ray_address, tmp_path, capsys
):
    """The learner's process, or that of a Ray of its own."""
    address = "" if victim is raylet else ray_address
    own = ["--actors", 1, "--ray-address", address, "--block-steps", 4, "--replay-size", 20_000]
    flags = words("rainbow", *FLAGS.split(), *own, "--timesteps", 10**6)
    command = [sys.executable, "-m", "rainbow.train"]
    for lives, saved in enumerate(killed_runs(command, flags, tmp_path, victim=victim)):
        training = Training(tiny("rainbow", *FLAGS.split(), *own, "--resume"), 2)
        assert training.restore(load_to_resume(tmp_path), None) is None
        for name, tensor in training.agent.net.state_dict().items():
            assert torch.equal(tensor, saved.tensors["net"][name])
        for name in saved.arrays:
            np.testing.assert_array_equal(
                whole(saved.arrays, name), whole(training.replay.arrays(), name), name
            )
        assert training.counters() == saved.counters
        reached = training.env_steps
        remembered = (whole(saved.arrays, "ends") != FINAL).sum()
        assert reached - 2 * lives <= remembered <= reached  # but for the newest of what was cut
    more = ["--resume", "--timesteps", str(reached + 64), "--ray-address", ray_address]
    rainbow.train.main(["--run-dir", str(tmp_path), *more])
    assert "new episodes begin" in capsys.readouterr().err
    assert load_checkpoint(tmp_path).counters["env_steps"] == reached + 64
    rows = read_columns(tmp_path / "metrics.csv")
    np.testing.assert_array_equal(rows["step"], 16 * np.arange(1, len(rows["step"]) + 1))
    np.testing.assert_array_equal(rows["updates"], updates_at(rows["step"]))
