"""The hybrid: a policy and a memory that explore, learning, and what it hands on."""

import dataclasses
import shutil

import numpy as np
import pytest
import torch

import rainbow.train
from experiment.checkpoint import load_agent, load_checkpoint
from experiment.errors import UserError
from experiment.metrics import read_columns
from jerk.learner import MEMORY, POLICY, RULE
from jerk.memory import Runs
from jerk.play import Play
from jerk.policy import FreshPolicy
from jerk.saving import start_from
from jerk.train import run
from jerk.training import FIRST_UPDATES, Training
from rainbow.agent import RainbowAgent, make_net
from retro_env import ended_episodes
from tests.jerk.test_train import preset, rainbow_config, saved_rainbow


def test_memory_holds_what_was_seen_before_each_action_and_what_came_after(course, tmp_path):
    """The seed stored observations after the action, rewards so far, and LEFT only."""
    config = preset("hybrid", policy="", policy_share=0.0, learn=False, num_envs=1)
    training, envs = Training(config, 1), course(1)
    obs, _ = envs.reset()
    training.begin(obs, envs.levels)
    seen, actions, rewards, infos = [], [], [], {}
    while "episode" not in infos:
        seen.append(training.agent.embedder(obs)[0])
        actions.append(training.act(obs))
        obs, reward, terminated, _, infos = envs.step(actions[-1])
        rewards.append(float(reward[0]))
        training.add(actions[-1], reward)
    training.end(
        {**{k: v[0] for k, v in infos["episode"].items()}, "env": 0},
        infos["final_obs"][0],
        terminated=bool(terminated[0]),
    )
    to_go = [sum(0.99**k * r for k, r in enumerate(rewards[t:])) for t in range(len(rewards))]
    for vector, action, value in zip(seen, actions, to_go, strict=True):
        near = training.memory.query(vector, k=1)
        assert near.cosines[0] > 0.999
        assert near.actions[0] == action[0] and near.returns[0] == pytest.approx(value, rel=1e-4)
    assert {1, 6} == set(training.memory.storage.actions[: len(training.memory)].tolist())


def test_memory_prefers_near_experience_and_knows_where_it_has_none(course):
    """In the seed, the distance was ignored."""
    training = Training(preset("hybrid", policy="", policy_share=0.0, learn=False), 2)
    rng = np.random.default_rng(0)
    here, far = (v / np.linalg.norm(v) for v in rng.standard_normal((2, 128)))
    near = here + 0.02 * rng.standard_normal(128)
    training.memory.add(near, 3, 5.0)
    for _ in range(3):
        training.memory.add(far + 0.02 * rng.standard_normal(128), 3, 0.0)
        training.memory.add(far + 0.02 * rng.standard_normal(128), 2, 4.0)
    lost = rng.standard_normal(128)
    asked = np.stack([here, far, lost / np.linalg.norm(lost)]).astype(np.float32)
    assert training.remembered(asked).tolist() == [3, 2, POLICY]
    assert (training.counts["asked"], training.counts["answered"]) == (3, 2)


def test_policy_learns_while_the_search_goes_on(course, tmp_path):
    config = preset("hybrid", timesteps=1200, update_every=4, learning_rate=3e-3)
    run(course(2), config, tmp_path / "run")
    saved, runs = load_checkpoint(tmp_path / "run"), Runs(config.runs)
    runs.restore(saved.arrays, saved.state["runs"])
    obs, actions, _ = runs.sample(runs.better({}), 500, np.random.default_rng(0), frame_stack=4)
    untrained = FreshPolicy(config).act(obs)
    learned = load_agent(tmp_path / "run").policy.act(obs)
    assert (learned == actions).mean() > (untrained == actions).mean() + 0.15


@pytest.mark.parametrize(
    "flags",
    [
        {"policy": "", "policy_share": 0.0, "learn": False},
        {"memory_share": 0.0},
        {"closed_loop": False, "memory_share": 0.0},
        {"choice": "bound", "change_cost": 2.0, "trial_share": 0.25},
        {"learn": False, "write_replay": False, "policy_share": 0.0},
        {"embed": "policy"},
    ],
    ids=["no policy", "no memory", "open loop", "bound", "no learning", "policy's embedding"],
)
def test_each_part_of_the_hybrid_can_be_switched(course, tmp_path, flags):
    agent = run(course(2), preset("hybrid", timesteps=200, **flags), tmp_path / "run")
    saved = load_checkpoint(tmp_path / "run")
    assert ("memory-returns" in saved.arrays) == (flags.get("memory_share") != 0.0)
    assert ("net" in saved.tensors) == (flags.get("policy") != "")
    assert ("run-frames" in saved.arrays) == (flags.get("write_replay") is not False)
    assert (agent.embedder is None) == (flags.get("closed_loop") is False)


def test_new_run_takes_memory_and_policy_of_another(course, tmp_path):
    source = run(course(2), preset("hybrid"), tmp_path / "source")
    training = Training(preset("hybrid", num_envs=1), 1)
    start_from(training, tmp_path / "source")
    assert len(training.memory) == len(load_checkpoint(tmp_path / "source").arrays["memory-used"])
    for key, value in source.policy.net.state_dict().items():
        assert torch.equal(value, training.agent.policy.net.state_dict()[key])


def test_rainbow_starts_from_the_best_runs_without_a_net(course, tmp_path):
    run(course(2), preset("hybrid", timesteps=1000), tmp_path / "jerk")
    with pytest.raises(UserError, match=r"--reward-scale 0\.01"):
        rainbow.train.Training(rainbow_config(), 1).start_from(tmp_path / "jerk/replay")
    training = rainbow.train.Training(rainbow_config(reward_scale=0.01), 1)
    fresh = {k: v.clone() for k, v in training.agent.net.state_dict().items()}
    training.start_from(tmp_path / "jerk/replay")
    runs = load_checkpoint(tmp_path / "jerk").arrays["run-lengths"]
    assert training.seeded == sum(runs + 1)
    for key, value in training.agent.net.state_dict().items():
        assert torch.equal(value, fresh[key])
    with pytest.raises(UserError, match="not of rainbow"):
        training.start_from(tmp_path / "jerk")


def test_a_run_goes_on_before_the_replay_that_it_wrote(course, tmp_path):
    """Its last checkpoint was damaged, and taken away."""
    config = preset("hybrid", timesteps=600, checkpoint_every=200)
    run(course(2), config, tmp_path / "jerk")
    before = load_checkpoint(tmp_path / "jerk/replay").arrays.stored
    shutil.rmtree(tmp_path / "jerk/checkpoints/step-000000600")
    config = dataclasses.replace(config, checkpoint_every=100, resume=True)
    run(course(2), config, tmp_path / "jerk")
    assert load_checkpoint(tmp_path / "jerk/replay").arrays.stored == before


def test_a_replay_of_jerk_is_one_of_backtracking(course, tmp_path):
    run(course(2), preset("hybrid", timesteps=400), tmp_path / "jerk")
    saved = load_checkpoint(tmp_path / "jerk/replay")
    assert saved.config["backtracking"] is False  # the search's own
    rainbow.train.Training(rainbow_config(reward_scale=0.01), 1).start_from(saved.folder)
    other = rainbow_config(reward_scale=0.01, backtracking=False)
    with pytest.raises(UserError, match=r"give --backtracking"):
        rainbow.train.Training(other, 1).start_from(saved.folder)


def test_a_rainbow_behind_jerk_gets_its_net_and_the_best_runs_back(course, tmp_path):
    config = rainbow_config()
    RainbowAgent(make_net(config), config).save(tmp_path / "rainbow")
    flags = {"timesteps": 1000, "learning_rate": 1e-3, "policy": "new"}
    agent = run(course(2), preset("hybrid", **flags), tmp_path / "jerk", init=tmp_path / "rainbow")
    assert isinstance(agent.policy, RainbowAgent)
    learned = load_agent(tmp_path / "jerk/replay")
    assert isinstance(learned, RainbowAgent) and learned.config.reward_scale == 0.5
    for key, value in load_agent(tmp_path / "rainbow").net.state_dict().items():
        assert torch.equal(value, learned.net.state_dict()[key])  # without what was imitated
    rewards = load_checkpoint(tmp_path / "jerk/replay").arrays["rewards"]
    assert set(rewards.tolist()) <= {0.0, 0.5}
    rainbow.train.run(course(1), config, tmp_path / "after", init=tmp_path / "jerk/replay")


def test_runs_of_more_actions_are_refused_by_rainbow_in_one_line(course, tmp_path):
    ten = preset("baseline", write_replay=True, actions=10)
    run(course(2), ten, tmp_path / "ten")
    with pytest.raises(UserError, match="--actions 10") as error:
        rainbow.train.Training(rainbow_config(), 1).start_from(tmp_path / "ten/replay")
    assert "\n" not in str(error.value)


def test_policy_and_memory_explore_as_soon_as_they_know_something(course):
    training = Training(preset("hybrid"), 1)
    start_from(training, None)
    assert training.shares() == (0.0, 0.0)
    training.memory.add(np.ones(128), 1, 1.0)
    training.updates = FIRST_UPDATES - 2
    training.update()
    assert training.shares() == (0.0, 0.25)
    training.update()
    assert training.shares() == (0.5, 0.25)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_policy_plays_where_the_memory_has_no_answer_if_it_has_a_share(share, monkeypatch):
    training = Training(preset("hybrid", policy_share=share), 1)
    start_from(training, None)
    training.agent.policy_knows = True
    training.plays = [Play("course", player=MEMORY, exploring=True)]
    wait = training.moves.wait
    monkeypatch.setattr(training.agent.policy, "act", lambda obs, explore: np.full(1, wait))
    actions = np.array([MEMORY])
    training.ask(actions, np.zeros((1, 4, 36, 36), np.uint8), None)
    assert (actions[0] == wait) == (share > 0.0)


def test_exploration_is_credited_with_what_came_after_it_took_over():
    """Not with what the changed part of a mutant's plan brought."""
    config = preset("hybrid", by_success=True, closed_loop=False, learn=False, write_replay=False)
    training = Training(dataclasses.replace(config, memory_share=0.0, policy_share=0.5), 1)
    best = training.sequences.add("course", np.full(6, 1, np.uint8), 6.0)
    play = Play("course", "mutant", best, best.actions, 2, player=RULE)
    training.plays = [play]
    for reward in (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 3.0, -1.0):
        action = play.next_action(
            training.rng, moves=training.moves, config=config, shares=training.shares()
        )
        play.add(action, reward)
    assert (play.shared, play.given, play.furthest) == (2.0, 6.0, 9.0)
    episode = {"env": 0, "r": 8.0, "l": 9, "level": "course"}
    training.end(episode, np.zeros((4, 36, 36), np.uint8), terminated=True)
    assert training.gains == {"course": {RULE: [3.0]}}


def test_a_named_policy_comes_before_the_one_of_a_run_and_two_are_refused(course, tmp_path):
    run(course(2), preset("hybrid", timesteps=200), tmp_path / "jerk")
    named = saved_rainbow(tmp_path / "rainbow")
    training = Training(preset("hybrid", policy=named), 2)
    start_from(training, tmp_path / "jerk")
    assert isinstance(training.agent.policy, RainbowAgent) and training.agent.policy_knows
    assert len(training.sequences) > 0
    with pytest.raises(UserError, match="both give a policy"):
        start_from(Training(preset("hybrid", policy=named), 2), tmp_path / "rainbow")
    training = Training(preset("hybrid"), 2)
    start_from(training, tmp_path / "rainbow")
    assert isinstance(training.agent.policy, RainbowAgent)


def test_a_policy_that_would_never_play_is_refused(tmp_path):
    with pytest.raises(UserError, match="--learn"):
        start_from(Training(preset("hybrid", learn=False, write_replay=False), 2), None)


def test_runs_for_rainbow_and_other_images_are_no_start(course, tmp_path):
    run(course(2), preset("hybrid"), tmp_path / "run")
    with pytest.raises(UserError, match=r"for rainbow\.train"):
        start_from(Training(preset("hybrid"), 2), tmp_path / "run/replay")
    with pytest.raises(UserError, match="--image-height 36"):
        start_from(Training(preset("hybrid", image_height=40), 2), tmp_path / "run")


def test_runs_of_more_actions_than_the_rainbow_behind_has_are_not_written(tmp_path):
    config = preset("hybrid", policy=saved_rainbow(tmp_path / "rainbow"), actions=10)
    with pytest.raises(UserError, match="--no-write-replay"):
        start_from(Training(config, 2), None)
    start_from(Training(dataclasses.replace(config, write_replay=False), 2), None)


def test_the_policys_first_episode_says_what_is_worth_imitating(course, tmp_path):
    named = saved_rainbow(tmp_path / "rainbow")
    config = preset("hybrid", policy=named, timesteps=400, update_every=4)
    for returned, learns in ((-1.0, True), (99.0, False)):
        training = Training(config, 1)
        start_from(training, None)
        before = {k: v.clone() for k, v in training.agent.policy.net.state_dict().items()}
        envs = course(1)
        obs, _ = envs.reset(seed=0)
        training.begin(obs, envs.levels)
        assert training.plays[0].player == POLICY
        while not training.runs:
            actions = training.act(obs)
            obs, rewards, terminated, _, infos = envs.step(actions)
            training.add(actions, rewards)
            for episode in ended_episodes(infos):
                training.end(episode, infos["final_obs"][0], terminated=bool(terminated[0]))
        assert list(training.policy_returns) == ["course"]
        training.policy_returns["course"] = returned
        training.update()
        after = training.agent.policy.net.state_dict()
        assert any(not torch.equal(before[k], after[k]) for k in before) == learns


def test_a_sequence_without_embeddings_gets_them_at_a_replay(course, tmp_path):
    run(course(2), preset("mutating", timesteps=800), tmp_path / "blind")
    assert not any(
        one["embeddings"]
        for found in load_checkpoint(tmp_path / "blind").state["sequences"]["levels"].values()
        for one in found
    )
    config = preset("mutating", timesteps=800, closed_loop=True, exploit_bias=1.0)
    agent = run(course(2), config, tmp_path / "run", init=tmp_path / "blind")
    best = agent.sequences.best("course")
    assert best.embeddings is not None and best.embeddings.shape == (len(best.actions), 128)


def test_by_success_every_player_explores_and_what_it_brought_is_kept(course, tmp_path):
    named = saved_rainbow(tmp_path / "rainbow")
    config = preset("hybrid", policy=named, timesteps=1500, by_success=True, num_envs=1)
    run(course(1), config, tmp_path / "run")
    gains = load_checkpoint(tmp_path / "run").state["gains"]["course"]
    assert set(gains) == {RULE, POLICY, MEMORY}
    ended = read_columns(tmp_path / "run/episodes.csv")["r"]
    assert 3 < sum(map(len, gains.values())) <= len(ended)
    assert all(0.0 <= gain <= 30.0 for found in gains.values() for gain in found)
    metrics = read_columns(tmp_path / "run/metrics.csv")
    for player, name in ((RULE, "rule"), (POLICY, "policy"), (MEMORY, "memory")):
        assert metrics[f"explored_{name}"][-1] == len(gains[player])
        assert metrics[f"gain_{name}"][-1] == pytest.approx(np.mean(gains[player]))
    with pytest.raises(UserError, match="by_success"):
        dataclasses.replace(config, policy_share=0.0, memory_share=0.0)


def test_what_a_policy_knows_goes_with_its_checkpoint(course, tmp_path):
    """A new one that never learned is not taken for a trained one by the next run."""
    agent = run(course(2), preset("hybrid", timesteps=200), tmp_path / "short")
    agent.save(tmp_path / "alone")
    for source in ("short", "alone"):
        training = Training(preset("hybrid"), 2)
        start_from(training, tmp_path / source)
        assert training.agent.policy is not None and training.shares().policy == 0.0
        named = Training(preset("hybrid", policy=str(tmp_path / source)), 2)
        start_from(named, None)
        assert named.shares().policy == 0.0
    with pytest.raises(UserError, match="--learn"):
        start_from(Training(preset("hybrid", learn=False), 2), tmp_path / "short")
    training.updates = FIRST_UPDATES
    training.update()
    training.agent.save(tmp_path / "learned")
    training = Training(preset("hybrid"), 2)
    start_from(training, tmp_path / "learned")
    assert training.shares().policy == 0.5


@pytest.mark.parametrize("by", ["init", "policy"])
@pytest.mark.parametrize("writes", [True, False])
def test_a_rainbow_behind_two_runs_comes_back_as_it_was(course, tmp_path, by, writes):
    named = saved_rainbow(tmp_path / "rainbow")
    flags = {"timesteps": 600, "learning_rate": 1e-2, "num_envs": 1}
    first = preset("hybrid", policy=named, write_replay=writes, **flags)
    learned = run(course(1), first, tmp_path / "first").policy.net.state_dict()
    second = preset("hybrid", policy=str(tmp_path / "first") if by == "policy" else "", **flags)
    run(course(1), second, tmp_path / "second", init=tmp_path / "first" if by == "init" else None)
    given = load_agent(tmp_path / "second/replay").net.state_dict()
    for key, value in load_agent(named).net.state_dict().items():
        assert torch.equal(value, given[key])
    assert any(not torch.equal(given[key], learned[key]) for key in given)


def test_what_one_encoder_remembers_is_not_given_to_another(course, tmp_path):
    config = preset("hybrid", embed="policy", policy=saved_rainbow(tmp_path / "rainbow"))
    run(course(2), config, tmp_path / "run")
    with pytest.raises(UserError, match="leave out --policy or --init"):
        start_from(Training(config, 2), tmp_path / "run")
    start_from(Training(dataclasses.replace(config, policy=""), 2), tmp_path / "run")


def test_a_policy_that_nothing_would_ask_is_refused(tmp_path):
    named = saved_rainbow(tmp_path / "rainbow")
    with pytest.raises(UserError, match="nothing would ask"):
        start_from(Training(preset("mutating", policy=named), 1), None)
    with pytest.raises(UserError, match="nothing would ask"):
        start_from(Training(preset("mutating"), 1), named)
    start_from(Training(preset("mutating", policy=named, write_replay=True), 1), None)


def test_a_kept_run_does_not_hold_the_rest_of_its_episode(course, tmp_path):
    config = preset("hybrid", num_envs=1)
    training, envs = Training(config, 1), course(1)
    start_from(training, None)
    obs, _ = envs.reset()
    training.begin(obs, envs.levels)
    play = training.plays[0]
    play.frames = [obs[0, -1:].copy() for _ in range(50)]
    play.actions, play.rewards = [1] * 50, [1.0] * 5 + [0.0] * 45
    training.keep_run(play, obs[0, -1:], terminated=True)
    kept = training.runs.levels["course"][0].frames
    assert len(kept) == 6 and kept.base is None
