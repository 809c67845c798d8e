import dataclasses
from threading import Event
from threading import enumerate as enumerate_threads
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import ppo2.training
from experiment.distributed import Group
from experiment.errors import UserError
from ppo2.acting import Acting
from ppo2.rewards import ReturnScale
from ppo2.train import play, run
from ppo2.training import Training
from tests.ppo2 import test_train

QUICK = dataclasses.replace(test_train.QUICK, timesteps=192, epochs=1)


@pytest.fixture
def learned_from(monkeypatch):
    """What the advantages of the last rollout were made of, by name, all [T,N]."""
    names = ("rewards", "values", "next_values", "terminated", "ended")
    arrays, real = {}, ppo2.training.generalised_advantages

    def record(*given, **numbers):
        arrays.update(zip(names, map(np.copy, given), strict=True))
        return real(*given, **numbers)

    monkeypatch.setattr(ppo2.training, "generalised_advantages", record)
    return arrays


def recorded(envs):
    """A list for each environment, to which it adds (observation, reward, terminated, truncated,
    last observation where the episode ended) at each step."""
    wait, steps = envs.step_wait, [[] for _ in range(envs.num_envs)]

    def step_wait(part):
        obs, rewards, terminated, truncated, infos = wait(part)
        for row, env in enumerate(range(envs.num_envs)[part]):
            ended = terminated[row] or truncated[row]
            final = infos["final_obs"][env] if ended else None
            steps[env].append((obs[row], rewards[row], terminated[row], truncated[row], final))
        return obs, rewards, terminated, truncated, infos

    envs.step_wait = step_wait
    return steps


def look(training, env, image, state, starts):
    """What the net makes of one image [C,H,W] alone -> log-probabilities [A], value, state."""
    shown = training.tables[env][image] if training.config.brightness else image
    noise = training.noise and [(a[env : env + 1], b[env : env + 1]) for a, b in training.noise]
    with torch.no_grad():
        logits, value, after = training.agent.net(
            torch.from_numpy(shown[None]), noise=noise, state=state, starts=torch.tensor([starts])
        )
    return logits.log_softmax(1)[0].numpy(), float(value), after


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"noisy": True, "brightness": 0.3},
        {"recurrent": "lstm", "recurrent_hidden": 8, "sequence_steps": 4, "noisy": True},
    ],
    ids=["plain", "noisy", "recurrent"],
)
def test_a_rollout_holds_what_the_net_says_of_every_step_alone(corridor, learned_from, flags):
    training = Training(dataclasses.replace(QUICK, normalise_returns=False, **flags), 3)
    envs = corridor(3)
    (obs, _), steps = envs.reset(), recorded(envs)
    seen, starts, cut = [*obs], [True] * 3, 0
    states = [*training.state.clone().split(1)]
    for _ in range(2):
        envs.steps[:] = 22  # of 30, at which an episode is cut
        obs = play(training, envs, obs)
        actions, logp = training.rollout.actions.tolist(), training.rollout.logp.clone()
        expected = {"logp": [], "values": [], "next_values": [], "rewards": []}
        for t, env in np.ndindex(16, 3):
            log_probs, value, states[env] = look(training, env, seen[env], states[env], starts[env])
            seen[env], reward, terminated, truncated, final = steps[env].pop(0)
            starts[env], cut = terminated or truncated, cut + truncated
            reached = final if truncated else seen[env]
            _, next_value, _ = look(training, env, reached, states[env], False)
            expected["logp"].append(log_probs[actions[t][env]])
            expected["values"].append(value)
            expected["next_values"].append(np.nan if terminated else next_value)
            expected["rewards"].append(reward)
        training.learn(obs)
        found = {**learned_from, "logp": logp.numpy()}
        found["next_values"][found["terminated"]] = np.nan
        for name, values in expected.items():
            np.testing.assert_allclose(found[name].flatten(), values, atol=1e-5, err_msg=name)
    assert cut >= 3


def test_deaths_and_bonuses_count_beside_the_scaled_rewards(corridor, learned_from, monkeypatch):
    config = dataclasses.replace(QUICK, death_penalty=0.5, novelty=2.0, distillation=3.0)
    training, envs = Training(config, 3), corridor(3)
    new, bonus = np.random.default_rng(0).random((2, 16, 3))
    monkeypatch.setattr(training.novelty, "new", lambda *_, **__: new)
    monkeypatch.setattr(training.distillation, "bonus", lambda _: bonus)
    obs = play(training, envs, envs.reset()[0])
    rollout = training.rollout
    raw, ended, deaths = rollout.rewards.copy(), rollout.ended, rollout.deaths.copy()
    training.learn(obs)
    scaled = ReturnScale(3, gamma=config.gamma)(raw, ended, Group())
    expected = scaled - 0.5 * deaths + 2.0 * new + 3.0 * bonus * ~ended
    np.testing.assert_allclose(learned_from["rewards"], expected, rtol=1e-5, atol=1e-6)
    assert deaths.any() and not np.allclose(scaled, raw)


def test_death_is_an_end_short_of_the_levels(corridor):
    training = Training(QUICK, 3)
    envs = corridor(3)
    training.act(envs.reset()[0], slice(0, 3))
    envs.position[:] = [3, 7, 0]
    _, rewards, terminated, truncated, infos = envs.step(
        np.array([1, 1, 1])
    )  # falls, ends, goes on
    everyone = slice(0, 3)
    training.add(rewards, terminated, truncated, infos, levels=envs.levels, part=everyone)
    assert terminated.tolist() == [True, True, False]
    assert training.rollout.deaths[0].tolist() == [True, False, False]
    assert training.rollout.rewards[0].tolist() == [0.0, 1.0, 1.0]


def test_schedules_follow_the_part_of_the_run_before_the_rollout(corridor):
    config = dataclasses.replace(QUICK, learning_rate=0.01, learning_rate_schedule="linear")
    training, envs, rates = Training(config, 3), corridor(3), []
    obs, _ = envs.reset()
    for _ in range(4):  # rollouts of 48 steps
        obs = play(training, envs, obs)
        rates.append(training.learn(obs)["learning_rate"])
    assert rates == pytest.approx([0.01, 0.0075, 0.005, 0.0025])


def test_overlapping_rollout_is_played_by_the_policy_of_one_before(corridor, monkeypatch):
    training, envs = Training(dataclasses.replace(QUICK, overlap=True), 3), corridor(3)
    (obs, _), update = envs.reset(), training.learner.update
    played_by, learned, ended = [], [], Event()

    def weights(net):
        return net.head.policy.weight.detach().clone()

    def acting():
        actor = training.agent.actor
        return actor.head_weight[:-1].clone() if isinstance(actor, Acting) else weights(actor)

    def record(*args, **numbers):
        metrics = update(*args, **numbers)
        learned.append(weights(training.learner.net))
        ended.set()
        return metrics

    monkeypatch.setattr(training.learner, "update", record)
    first, updates = weights(training.agent.net), []
    for _ in range(3):
        played_by.append(acting())
        obs = play(training, envs, obs)
        ended.clear()
        updates.append(training.learn(obs).get("updates"))
        assert ended.wait(60)
    updates.append(training.finish()["updates"])
    assert updates == [None, 1, 2, 3]
    assert training.finish() == {}
    for found, expected in zip(played_by, [first, first, learned[0]], strict=True):
        assert torch.equal(found, expected)
    assert torch.equal(acting(), learned[2])
    assert not torch.equal(learned[2], learned[1])


def test_what_is_learned_from_stays_while_the_next_rollout_fills(corridor, monkeypatch):
    training, envs = Training(dataclasses.replace(QUICK, overlap=True), 3), corridor(3)
    played, kept = Event(), []

    def update(batch, *_, **__):
        names = ("obs", "states", "starts", "actions", "logp", "values", "advantages", "returns")
        before = [getattr(batch, name).clone() for name in names]
        assert played.wait(60)
        kept.extend(torch.equal(getattr(batch, n), b) for n, b in zip(names, before, strict=True))
        return {}

    monkeypatch.setattr(training.learner, "update", update)
    obs = play(training, envs, envs.reset()[0])
    learned_from = training.rollout.obs.clone()
    training.learn(obs)
    play(training, envs, obs)
    played.set()
    training.finish()
    assert kept == [True] * 8
    assert not torch.equal(training.rollout.obs, learned_from)


def test_an_error_while_playing_does_not_wait_for_the_learning(corridor, tmp_path):
    config = dataclasses.replace(QUICK, timesteps=10**6, overlap=True, epochs=10**5)
    envs = corridor(3)
    wait, waits = envs.step_wait, iter(range(40))
    envs.step_wait = lambda part: wait(part) if next(waits, None) is not None else 1 / 0
    with pytest.raises(ZeroDivisionError):
        run(envs, config, tmp_path / "run")
    (thread,) = [one for one in enumerate_threads() if one.name.startswith("overlap")]
    thread.join(60)
    assert not thread.is_alive()


def test_overlap_is_refused_in_a_group(monkeypatch):
    group = SimpleNamespace(active=True, rank=0, size=2)
    monkeypatch.setattr(ppo2.training, "Group", lambda: group)
    with pytest.raises(UserError, match="one process"):
        Training(dataclasses.replace(QUICK, overlap=True), 3)
