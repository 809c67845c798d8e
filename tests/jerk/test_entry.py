"""The hybrid of the contest's entry: the policy explores, gives the memory's keys, and learns."""

import numpy as np
import pytest
import torch

import rainbow.train
import rainbow.training
from jerk.embedding import NetEmbedder
from jerk.episode import SearchEpisode
from jerk.learner import Learner, imitation_losses
from jerk.memory import sample
from jerk.train import run
from jerk.training import Training
from ppo2.demonstrations import read
from retro_agents.contract.frames import FrameHistory
from retro_agents.experience.episodes import Episode, episodes_of
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import load_agent, load_checkpoint
from retro_agents.run.config import replaced
from tests.agents.tiny import images, untrained
from tests.jerk.test_hybrid import BLANK, assert_same_net, started
from tests.jerk.test_train import preset, rainbow_config, saved_agent
from tests.runs import Stop, assert_same_run, stopping


@pytest.fixture
def ppo2(tmp_path):
    """A PPO2's checkpoint."""
    return saved_agent("ppo2", tmp_path / "ppo2")


@pytest.mark.parametrize("package", ["ppo2", "rainbow"])
def test_keys_are_what_the_net_says_before_it_chooses(package):
    actor = untrained(package)
    obs, net = images(5), actor.net
    pixels = torch.from_numpy(obs)
    with torch.no_grad():
        hidden = net.hidden if package == "ppo2" else net.head.hidden
        scores = actor.scores(pixels)
        wanted = {True: hidden(net.encoder(pixels)), False: scores - scores.mean(1, keepdim=True)}
    for part, rows in wanted.items():
        embedder = NetEmbedder(actor, hidden=part)
        np.testing.assert_array_equal(embedder(obs), rows.numpy())
        assert embedder.size == rows.shape[1]
    assert not any(layer._forward_hooks for layer in net.modules())


def test_a_net_without_a_layer_of_that_name_has_no_hidden_key():
    actor = untrained("sac")
    assert NetEmbedder(actor, hidden=False).size == 7
    with pytest.raises(UserError, match="--memory-key hidden: this policy's net has no layer"):
        NetEmbedder(actor, hidden=True)


@pytest.mark.parametrize(("key", "size"), [("frames", 128), ("scores", 7), ("hidden", 16)])
def test_the_memory_is_found_by_the_key_that_is_asked_for(key, size, ppo2):
    training = started("entry", ppo2, memory_key=key, memory_merge_above=1.1)
    settings = training.agent.memory.config
    assert (settings.features, settings.merge_above) == (size, 1.1)
    training.search.actions([SearchEpisode("course")], BLANK)
    assert training.agent.embedder(BLANK).shape == (1, size)


@pytest.mark.parametrize(
    ("remembers", "wanted"),
    [(False, {"policy": 0.5, "memory": 0.0}), (True, {"policy": 0.25, "memory": 0.5})],
)
def test_the_policy_explores_its_share_of_what_the_memory_leaves(remembers, wanted, ppo2):
    training = started("entry", ppo2)
    search = training.search
    if remembers:
        training.agent.memory.add(np.ones(7), 1, 1.0)
    players = []
    for _ in range(3_000):
        episode = search.begin("course", env_steps=0)  # a level's first, too
        _, player = search.next_action(episode, search.shares())
        players.append(player)
    for player, share in wanted.items():
        assert players.count(player) / 3_000 == pytest.approx(share, abs=0.03)


def two_runs():
    rng = np.random.default_rng(0)
    facts = {"action_names": ("a",), "frame_skip": 4, "terminated": True}
    return [
        Episode(
            level,
            actions=rng.integers(7, size=steps).astype(np.uint8),
            rewards=np.full(steps, value / steps),
            frames=rng.integers(256, size=(steps + 1, 1, 36, 36), dtype=np.uint8),
            **facts,
        )
        for level, steps, value in (("one", 9, 30.0), ("one", 5, 20.0), ("two", 4, -1.0))
    ]


def test_steps_are_drawn_with_what_was_seen_and_the_runs_share_of_the_best(ppo2):
    spec, runs = started("entry", ppo2).spec, two_runs()
    obs, actions, weights = sample(runs, 200, np.random.default_rng(1), spec=spec)
    known, rows = {}, np.zeros(1, int)
    for run_, weight in zip(runs, (1.0, 2 / 3, 0.0), strict=True):
        history = FrameHistory(1, frame_shape=(1, 36, 36), steps_back=spec.steps_back)
        for step, action in enumerate(run_.actions):
            frame = run_.frames[step : step + 1]
            history.add(rows, frame) if step else history.begin(rows, frame)
            known[history.observations(rows)[0].tobytes()] = (action, weight)
    drawn = [known[image.tobytes()] for image in obs]
    assert len({image.tobytes() for image in obs}) == 18
    assert [action for action, _ in drawn] == actions.tolist()
    np.testing.assert_allclose([weight for _, weight in drawn], weights, rtol=1e-6)


def test_losses_of_imitation_are_weighted_cross_entropies():
    rng = np.random.default_rng(0)
    scores, actions, weights = rng.normal(size=(6, 7)), rng.integers(7, size=6), rng.random(6)
    wanted = [
        -w * np.log(np.exp(row[a]) / np.exp(row).sum())
        for row, a, w in zip(scores, actions, weights, strict=True)
    ]
    found = imitation_losses(*map(torch.from_numpy, (scores, actions, weights)))
    np.testing.assert_allclose(found.numpy(), wanted)


def test_a_policy_learns_to_act_as_the_best_runs(ppo2):
    training = started("entry-learning", ppo2, learning_rate=1e-2)
    learner = Learner(training.agent.policy.actor, training.config)
    obs, actions, weights = sample(two_runs()[:2], 64, np.random.default_rng(1), spec=training.spec)
    first, *_, last = [learner.update(obs, actions, weights) for _ in range(60)]
    assert first["imitation_agrees"] < 0.5 and last["imitation_agrees"] > 0.85
    assert last["imitation_loss"] < 0.3 * first["imitation_loss"]
    assert learner.update(obs, actions, 0.0 * weights)["imitation_loss"] == 0.0


def test_a_policys_gradients_are_clipped(ppo2, monkeypatch):
    monkeypatch.setattr("jerk.learner.GRADIENT_NORM", 1e-12)
    training = started("entry-learning", ppo2)
    actor = training.agent.policy.actor
    before = [weights.detach().clone() for weights in actor.net.parameters()]
    Learner(actor, replaced(training.config, learning_rate=1.0)).update(
        *sample(two_runs()[:2], 64, np.random.default_rng(1), spec=training.spec)
    )
    for was, now in zip(before, actor.net.parameters(), strict=True):
        torch.testing.assert_close(was, now, rtol=0.0, atol=1e-3)


def test_keys_stay_comparable_while_the_policy_learns(course, tmp_path, ppo2):
    config = preset("entry-learning", policy=ppo2, num_envs=1, timesteps=400)
    agent = run(course(1), config, tmp_path / "run")
    before = load_agent(ppo2)
    assert_same_net(agent.embedder.actor, before)
    learned = agent.policy.actor.net.state_dict()
    assert any(not torch.equal(learned[name], w) for name, w in before.net.state_dict().items())
    unnamed = replaced(config, policy="", learn_every=0)  # it does not learn any more
    again = Training(unnamed, 1).agent
    again.start_from(tmp_path / "run")
    assert_same_net(again.embedder.actor, before)
    assert_same_net(again.policy.actor, agent.policy.actor)
    assert len(again.memory) == len(agent.memory)


@pytest.mark.parametrize(
    ("name", "package", "key", "tables"),
    [
        ("parts", "rainbow", "frames", False),
        ("entry-search", "", "frames", False),
        ("entry", "ppo2", "scores", False),
        ("entry", "ppo2", "scores", True),
        ("entry-learning", "ppo2", "hidden", False),
        ("entry-rainbow", "rainbow", "scores", False),
    ],
)
def test_a_stopped_run_with_a_policy_and_a_memory_goes_on_exactly(
    course, tmp_path, monkeypatch, name, package, key, tables
):
    if tables:
        pytest.importorskip("datasketch")
    if name == "parts":  # one of which is full
        monkeypatch.setattr("jerk.agent.MEMORY_CAPACITY", 20)
    saved = saved_agent(package, tmp_path / package) if package else ""
    flags = {"memory_key": key, "memory_tables": tables, "timesteps": 400}
    config = preset(name, policy=saved, **flags)
    memory = run(course(2), config, tmp_path / "whole").memory
    assert memory is None or (memory.config.backend == "tables") == tables
    with pytest.raises(Stop):
        run(stopping(course(2), tmp_path / "parts"), config, tmp_path / "parts")
    run(course(2), replaced(config, resume=True), tmp_path / "parts")
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


def test_rainbow_and_a_clone_begin_with_the_run_itself(course, tmp_path):
    saved = saved_agent("rainbow", tmp_path / "rainbow")
    config = preset("entry-rainbow", policy=saved, timesteps=600)
    run(course(2), config, tmp_path / "jerk")
    training = rainbow.training.Training(rainbow_config(), 1)
    training.start_from(tmp_path / "jerk")
    episodes = episodes_of(load_checkpoint(tmp_path / "jerk/replay"))
    assert training.seeded == sum(len(episode.frames) for episode in episodes) > 0
    assert_same_net(training.agent, load_agent(saved))
    rainbow.train.run(course(1), rainbow_config(), tmp_path / "after", init=tmp_path / "jerk")
    shown = read(str(tmp_path / "jerk"), rainbow_config().env, gamma=0.99)
    assert shown.size == sum(len(episode.actions) for episode in episodes)
