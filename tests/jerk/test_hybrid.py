"""The hybrid: a policy and a memory that explore, and what it hands on."""

import shutil

import numpy as np
import pytest
import torch

import rainbow.training
from jerk.episode import SearchEpisode
from jerk.explorer import Rhythm
from jerk.learner import Bout
from jerk.train import run
from jerk.training import Training
from ppo2.agent import PPO2Agent
from rainbow.agent import RainbowAgent
from retro_agents.experience.episodes import episodes_of
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import (
    latest_checkpoint,
    load_agent,
    load_checkpoint,
    save_checkpoint,
)
from retro_agents.run.config import replaced, to_dict
from tests.jerk.test_train import preset, rainbow_config, saved_agent

BLANK = np.zeros((1, 4, 36, 36), np.uint8)


@pytest.fixture
def named(tmp_path):
    """A checkpoint of Rainbow."""
    return saved_agent("rainbow", tmp_path / "rainbow")


def started(name="parts", policy="", **changes):
    """A run of a preset, begun as its config says."""
    training = Training(preset(name, policy=policy, num_envs=1, **changes), 1)
    training.agent.start_from(None)
    return training


def answering(training, monkeypatch, actions):
    """Let the policy behind JERK choose these actions."""
    drawn = iter(actions)

    def act(obs, *, play):
        assert play == "draw"  # its best action would explore nothing
        return np.full(len(obs), next(drawn))

    monkeypatch.setattr(training.agent.policy.actor, "act", act)


def assert_same_net(one, other):
    theirs = other.net.state_dict()
    for key, value in one.net.state_dict().items():
        assert torch.equal(value, theirs[key])


def test_memory_holds_what_was_seen_before_each_action_and_what_came_after(course):
    """The seed stored observations after the action, rewards so far, and LEFT only."""
    training, envs = Training(preset("parts", num_envs=1), 1), course(1)
    obs, _ = envs.reset()
    training.begin(obs, envs.levels)
    seen, actions, rewards, infos = [], [], [], {}
    while "episode_record" not in infos:
        seen.append(training.agent.embedder(obs)[0])
        actions.append(training.search.actions(training.episodes, obs))
        obs, reward, terminated, _, infos = envs.step(actions[-1])
        rewards.append(float(reward[0]))
        training.add(actions[-1], reward)
    training.end(
        {**{k: v[0] for k, v in infos["episode_record"].items()}, "env": 0},
        infos["final_obs"][0],
        terminated=bool(terminated[0]),
    )
    to_go = [sum(0.99**k * r for k, r in enumerate(rewards[t:])) for t in range(len(rewards))]
    for vector, action, value in zip(seen, actions, to_go, strict=True):
        near = training.agent.memory.query(vector, k=1)
        assert near.cosines[0] > 0.999
        assert near.actions[0] == action[0] and near.returns[0] == pytest.approx(value, rel=1e-4)
    memory = training.agent.memory
    assert {1, 6} == set(memory.storage.actions[: len(memory)].tolist())


@pytest.mark.parametrize(("best", "wanted"), [(False, 2), (True, 5)])
def test_memory_prefers_near_experience_and_knows_where_it_has_none(best, wanted):
    """In the seed, the distance was ignored. best: what earned most, not what does on average."""
    training = Training(preset("parts", memory_best=best), 2)
    memory = training.agent.memory
    rng = np.random.default_rng(0)
    here, far = (v / np.linalg.norm(v) for v in rng.standard_normal((2, 128)))
    near = here + 0.02 * rng.standard_normal(128)
    memory.add(near, 3, 5.0)
    for action, value in 3 * [(3, 0.0), (2, 4.0)] + [(5, 9.0), (5, -9.0)]:
        memory.add(far + 0.02 * rng.standard_normal(128), action, value)
    lost = rng.standard_normal(128)
    asked = np.stack([here, far, lost / np.linalg.norm(lost)]).astype(np.float32)
    assert training.search.by_memory([0, 1, 2], asked) == {0: 3, 1: wanted}
    assert training.search.by_memory([2, 1], asked) == {1: wanted}
    assert [training.search.counts[name] for name in ("asked", "answered")] == [5, 3]


@pytest.mark.parametrize("off", ["policy", "memory_share", "write_replay"])
def test_each_part_of_the_hybrid_can_be_switched(course, tmp_path, named, off):
    flags = {"policy": named, off: {"policy": "", "memory_share": 0.0}.get(off, False)}
    agent = run(course(2), preset("parts", timesteps=200, **flags), tmp_path / "run")
    saved = load_checkpoint(tmp_path / "run")
    assert ("memory-returns" in saved.arrays) == (off != "memory_share")
    assert (agent.embedder is None) == (off == "memory_share")
    assert ("net" in saved.tensors) == (off != "policy")
    assert ("episode-frames" in saved.arrays) == (off != "write_replay")


@pytest.mark.parametrize(("scale", "backtracking"), [(0.01, True), (2.0, False)])
def test_rainbow_starts_from_the_best_runs_without_a_net(course, tmp_path, scale, backtracking):
    run(course(2), preset("parts", timesteps=1000), tmp_path / "jerk")
    config = rainbow_config(reward_scale=scale, backtracking=backtracking)
    training, fresh = (rainbow.training.Training(config, 1) for _ in range(2))
    training.start_from(tmp_path / "jerk/replay")
    episodes = episodes_of(load_checkpoint(tmp_path / "jerk/replay"))
    assert training.seeded == sum(len(episode.frames) for episode in episodes)
    fresh.start_from(latest_checkpoint(tmp_path / "jerk"))  # as a contest names the run
    assert fresh.seeded == training.seeded
    rewards = training.replay.rewards[: training.seeded]
    assert rewards.sum() == pytest.approx(scale * sum(e.total_reward for e in episodes))
    assert_same_net(training.agent, fresh.agent)
    run(course(2), preset("mutating", timesteps=60), tmp_path / "alone")  # which leaves none
    with pytest.raises(UserError, match="not of rainbow"):
        training.start_from(tmp_path / "alone")


def test_a_run_goes_on_before_the_replay_that_it_wrote(course, tmp_path):
    """Its last checkpoint was damaged, and taken away."""
    config = preset("parts", timesteps=600, checkpoint_every=200)
    run(course(2), config, tmp_path / "jerk")
    before = load_checkpoint(tmp_path / "jerk/replay").arrays.stored
    shutil.rmtree(tmp_path / "jerk/checkpoints/step-000000600")
    config = replaced(config, checkpoint_every=100, resume=True)
    run(course(2), config, tmp_path / "jerk")
    assert load_checkpoint(tmp_path / "jerk/replay").arrays.stored == before


@pytest.mark.parametrize(("by", "writes"), [("init", True), ("policy", False)])
def test_a_rainbow_behind_two_runs_comes_back_as_it_was(course, tmp_path, named, by, writes):
    flags = {"timesteps": 600, "num_envs": 1, "policy_replays": 0.5}
    first = preset("parts", policy=named, write_replay=writes, **flags)
    run(course(1), first, tmp_path / "first")
    second = preset("parts", policy=str(tmp_path / "first") if by == "policy" else "", **flags)
    run(course(1), second, tmp_path / "second", init=tmp_path / "first" if by == "init" else None)
    back = load_agent(tmp_path / "second/replay")
    assert isinstance(back, RainbowAgent) and back.config.env.reward_scale == 0.5
    assert_same_net(load_agent(named), back)


def test_a_rainbow_takes_the_runs_alone_where_another_agent_was_behind_jerk(course, tmp_path):
    run(
        course(2), preset("parts", policy=saved_agent("ppo2", tmp_path / "ppo2")), tmp_path / "jerk"
    )
    assert isinstance(load_agent(tmp_path / "jerk/replay"), PPO2Agent)
    training = rainbow.training.Training(rainbow_config(), 1)
    training.start_from(tmp_path / "jerk/replay")
    assert training.seeded > 0


def test_runs_of_more_actions_are_refused_by_rainbow_in_one_line(course, tmp_path):
    ten = preset("baseline", write_replay=True, actions=10)
    run(course(2), ten, tmp_path / "ten")
    with pytest.raises(UserError, match="holds episodes of frame_skip 4 and the actions"):
        rainbow.training.Training(rainbow_config(), 1).start_from(tmp_path / "ten/replay")


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_policy_plays_where_the_memory_has_no_answer_if_it_has_a_share(share, named, monkeypatch):
    training = started(policy=named, policy_replays=share)
    episodes = [SearchEpisode("course", bout=Bout(steps_left=9, player="memory"))]
    wait = training.agent.moves.wait
    answering(training, monkeypatch, [wait])
    assert (training.search.actions(episodes, BLANK) == wait) == (share > 0.0)


@pytest.mark.parametrize("name", ["baseline", "mutating", "recovering"])
def test_a_policy_plays_on_in_replays_alone_with_every_preset(name, named):
    training = started(name, named, policy_replays=1.0, go_on=True)
    rng = np.random.default_rng(0)
    for kind, player in (("explore", "rule"), ("mutant", "rule"), ("replay", "policy")):
        rhythm = Rhythm.drawn(rng) if training.config.rhythm else None
        episode, shares = SearchEpisode("course", kind, rhythm=rhythm), training.search.shares()
        assert training.search.next_action(episode, shares)[1] == player
    training.begin(BLANK, ["course"])
    assert training.episodes[0].bout.player == "policy"  # the first episode of a level is its own


def test_a_policys_action_is_held_until_others_play(named, monkeypatch):
    training = started(policy=named, policy_hold=3, memory_share=0.0)
    answering(training, monkeypatch, range(7))
    moves, episode = training.agent.moves, SearchEpisode("course")
    for step in range(9):
        if step in (0, 5):
            episode = SearchEpisode.restore(episode.save(), training.sequences)
            episode.bout = Bout(steps_left=-1, player="policy")
        if step == 4:
            episode.bout = Bout()
        episode.add(int(training.search.actions([episode], BLANK)[0]), 0.0)
    assert episode.actions[4] in (moves.right, moves.right_jump)
    assert episode.actions[:4] + episode.actions[5:] == [0, 0, 0, 1, 2, 2, 2, 3]


def test_a_named_policy_comes_before_the_one_of_a_run_and_two_are_refused(course, tmp_path, named):
    searched = preset("parts", timesteps=200, policy=saved_agent("ppo2", tmp_path / "ppo2"))
    run(course(2), searched, tmp_path / "jerk")
    agent = Training(preset("parts", policy=named), 2).agent
    agent.start_from(tmp_path / "jerk")
    assert isinstance(agent.policy.actor, RainbowAgent) and len(agent.sequences) > 0
    # What would be replaced need not fit.
    shared = {"timesteps": 200, "policy": saved_agent("ppo2", tmp_path / "other")}
    run(course(2), preset("entry-rainbow", policy=named, timesteps=200), tmp_path / "values")
    Training(preset("entry-learning", **shared), 2).agent.start_from(tmp_path / "values")
    with pytest.raises(UserError, match="both give a policy"):
        Training(preset("parts", policy=named), 2).agent.start_from(named)
    agent = Training(preset("parts"), 2).agent
    agent.start_from(named)
    assert isinstance(agent.policy.actor, RainbowAgent)


def test_the_policy_behind_an_older_version_is_refused_in_one_line(tmp_path, named):
    agent = started(policy=named).agent
    saved = {"config": {**to_dict(agent.config), "learn": False}, "state": agent.state()}
    folder = save_checkpoint(tmp_path / "older", agent="jerk", tensors=agent.tensors(), **saved)
    with pytest.raises(UserError, match=r"another version of jerk \(unknown field 'learn'"):
        started(policy=str(folder))


def test_a_start_that_does_not_fit_is_refused_in_one_line(course, tmp_path, named):
    run(course(2), preset("parts"), tmp_path / "run")
    run(course(1), preset("baseline", num_envs=1, actions=10), tmp_path / "ten")
    scored = preset("entry", policy=saved_agent("ppo2", tmp_path / "ppo2"), timesteps=200)
    run(course(2), scored, tmp_path / "scores")
    run(course(2), preset("entry-rainbow", policy=named, timesteps=200), tmp_path / "values")
    hidden = {"policy": "", "memory_key": "hidden"}
    learning = "--learn-every is for policies with logits"
    for init, name, flags, says in (
        (tmp_path / "run/replay", "parts", {}, "no policy"),
        (tmp_path / "run", "parts", {"image_height": 40}, "--image-height"),
        (tmp_path / "ten", "baseline", {}, "--actions 10"),
        (None, "parts", {"policy_replays": 0.5}, "--policy CHECKPOINT"),
        (None, "parts", {"policy": named, "actions": 10}, "--no-write-replay"),
        (None, "mutating", {"policy": named}, "nothing would use"),
        (named, "mutating", {}, "nothing would use"),
        (None, "entry-learning", {"policy": named}, learning),
        (tmp_path / "values", "entry-learning", {"policy": ""}, learning),
        (tmp_path / "scores", "entry", hidden, "--memory-key scores"),
    ):
        with pytest.raises(UserError, match=says):
            Training(preset(name, **flags), 2).agent.start_from(init)
    started(policy=named, actions=10, write_replay=False)
    Training(preset("mutating", policy=named, write_replay=True), 1).agent.start_from(None)


def test_kept_runs_have_whole_frames_and_their_ends_and_the_best_is_written_last(tmp_path):
    seen = {"colour": "rgb", "frame_stack": 2, "memory_share": 0.0}
    training = Training(preset("parts", num_envs=1, **seen), 1)
    numbers = np.arange(6, dtype=np.uint8)[:, None, None]
    obs = [np.broadcast_to(numbers + 10 * step, (6, 36, 36)) for step in range(3)]
    for training.env_steps, rewards in ((100, [5.0]), (200, [6.0, -1.0])):
        training.episodes = [SearchEpisode("course")]
        for image, reward in zip(obs, rewards, strict=False):
            actions = training.search.actions(training.episodes, image[None])
            training.add(actions, np.array([reward]))
        training.end({"env": 0, "r": sum(rewards)}, obs[len(rewards)], terminated=True)
    further, first = training.runs.all()
    assert first.terminated and not further.terminated  # it ended after its furthest point
    for kept in (further, first):
        assert kept.frames[:, :, 0, 0].tolist() == [[3, 4, 5], [13, 14, 15]]
    assert training.first_run == 101  # since which updates are due
    training.write_replay(tmp_path)
    written = episodes_of(load_checkpoint(tmp_path))
    assert [episode.total_reward for episode in written] == [5.0, 6.0]


def test_a_run_that_was_cut_is_not_kept_as_one_that_ended(course, tmp_path):
    envs = course(1)
    envs.limit = 5  # before the first hole
    run(envs, preset("parts", num_envs=1, timesteps=20), tmp_path)
    episodes = episodes_of(load_checkpoint(tmp_path / "replay"))
    assert episodes and not any(episode.terminated for episode in episodes)


def test_a_kept_run_does_not_hold_the_rest_of_its_episode(course):
    training, envs = Training(preset("parts", num_envs=1), 1), course(1)
    obs, _ = envs.reset()
    training.begin(obs, envs.levels)
    episode = training.episodes[0]
    episode.frames = [obs[0, -1:].copy() for _ in range(50)]
    episode.actions, episode.rewards = [1] * 50, [1.0] * 5 + [0.0] * 45
    training.keep_run(episode, 5, obs[0, -1:], terminated=True)
    kept = training.runs.levels["course"][0].frames
    assert len(kept) == 6 and kept.base is None
