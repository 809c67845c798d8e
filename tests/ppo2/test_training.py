import numpy as np
import pytest
import torch

import retro_agents.experience.values
from ppo2.training import Training
from retro_agents.experience.return_scale import ReturnScale
from retro_agents.run.checkpoint import load_to_resume
from retro_agents.run.config import replaced
from retro_agents.run.distributed import Group
from tests.agents.tiny import tiny

FLAGS = "--timesteps 192 --rollout-steps 16 --epochs 1 --hidden 32 --gamma 0.9"
QUICK = tiny("ppo2", *FLAGS.split(), "--learning-rate", "1e-3", "--checkpoint-every", "100")
RECURRENT = {"recurrent": "lstm", "recurrent_hidden": 8, "sequence_steps": 4}


@pytest.fixture
def learned_from(monkeypatch):
    """What the advantages of the last rollout were made of, by name: arrays [T,N], and numbers."""
    names = ("rewards", "values", "next_values", "terminated", "ended")
    arrays, real = {}, retro_agents.experience.values.generalised_advantages

    def record(*given, **numbers):
        arrays.update(zip(names, map(np.copy, given), strict=True), **numbers)
        return real(*given, **numbers)

    monkeypatch.setattr(retro_agents.experience.values, "generalised_advantages", record)
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


def look(training, image, state, starts):
    """What the net makes of one image [C,H,W] alone -> log-probabilities [A], value, state."""
    with torch.no_grad():
        logits, value, after = training.agent.net(
            torch.from_numpy(image[None]), state=state, starts=torch.tensor([starts])
        )
    return logits.log_softmax(1)[0].numpy(), float(value), after


@pytest.mark.parametrize("flags", [{}, RECURRENT], ids=["plain", "recurrent"])
def test_a_rollout_holds_what_the_net_says_of_every_step_alone(corridor, learned_from, flags):
    training = Training(replaced(QUICK, normalise_returns=False, **flags), 3)
    envs = corridor(3)
    (obs, _), steps = envs.reset(), recorded(envs)
    seen, starts, cut = [*obs], [True] * 3, 0
    states = [*training.collector.state.clone().split(1)]
    for _ in range(2):
        envs.steps[:] = 22  # of 30, at which an episode is cut
        obs = training.collector.play(envs, obs)
        rollout = training.collector.rollout
        actions, logp = rollout.actions.tolist(), rollout.logp.clone()
        expected = {"logp": [], "values": [], "next_values": [], "rewards": []}
        for t, env in np.ndindex(16, 3):
            log_probs, value, states[env] = look(training, seen[env], states[env], starts[env])
            seen[env], reward, terminated, truncated, final = steps[env].pop(0)
            starts[env], cut = terminated or truncated, cut + truncated
            reached = final if truncated else seen[env]
            _, next_value, _ = look(training, reached, states[env], False)
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


def test_bonuses_count_beside_the_scaled_rewards(corridor, learned_from, monkeypatch):
    config = replaced(QUICK, novelty=2.0, rnd=3.0)
    training, envs = Training(config, 3), corridor(3)
    new, bonus = np.random.default_rng(0).random((2, 16, 3))
    monkeypatch.setattr(training.novelty, "bonus", lambda *_, **__: new)
    monkeypatch.setattr(training.rnd, "bonus", lambda *_: bonus)
    obs = training.collector.play(envs, envs.reset()[0])
    rollout = training.collector.rollout
    raw, ended = rollout.rewards.copy(), rollout.ended
    training.learn(obs)
    scaled = ReturnScale(3, gamma=config.gamma)(raw, ended, Group())
    expected = scaled + 2.0 * new + 3.0 * bonus
    np.testing.assert_allclose(learned_from["rewards"], expected, rtol=1e-5, atol=1e-6)
    assert not np.allclose(scaled, raw)


def test_a_bonus_with_a_value_function_of_its_own_goes_on_beyond_the_ends_of_episodes(
    corridor, monkeypatch
):
    config = replaced(QUICK, rnd=0.5, rnd_values="two", rnd_gamma=0.8, lam=0.7)
    training, envs = Training(config, 3), corridor(3)
    assert training.rnd.scale.gamma == 0.8
    assert Training(replaced(config, rnd_values="one"), 3).rnd.scale.gamma == config.gamma
    bonus = np.random.default_rng(0).random((16, 3)).astype(np.float32)
    monkeypatch.setattr(training.rnd, "bonus", lambda *_: bonus)
    obs = training.collector.play(envs, envs.reset()[0])
    batch, *_ = training.batch(obs)
    rollout = training.collector.rollout
    assert rollout.ended.any() and rollout.values.shape == (16, 3, 2)
    own = rollout.values[:, :, 1].numpy()
    with torch.no_grad():
        net, nothing = training.agent.net, torch.zeros(3, 0)
        last = net(torch.from_numpy(obs), state=nothing, starts=torch.zeros(3, dtype=torch.bool))
    reached = np.vstack([own[1:], last[1][:, 1].numpy()[None]])  # the next episode's, where ended
    deltas, slow = bonus + 0.8 * reached - own, np.zeros((16, 3))
    for t in range(16):
        slow[t] = sum((0.8 * 0.7) ** (k - t) * deltas[k] for k in range(t, 16))
    returns = batch.returns.unflatten(0, (16, 3)).numpy()
    np.testing.assert_allclose(returns[:, :, 1], slow + own, rtol=1e-4, atol=1e-5)
    plain = returns[:, :, 0] - rollout.values[:, :, 0].numpy()
    found = batch.advantages.view(16, 3).numpy()
    np.testing.assert_allclose(found, plain + 0.5 * slow, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "flags", [{}, RECURRENT, {"noisy": True}, {"rnd": 0.1, "rnd_values": "two"}], ids=str
)
def test_a_first_step_learns_from_the_policy_that_acted(corridor, flags):
    training, envs = Training(replaced(QUICK, minibatches=1, **flags), 3), corridor(3)
    with torch.no_grad():
        training.agent.net.head.policy.weight *= 100.0  # else all policies are nearly the same
    obs = training.collector.play(envs, envs.reset()[0])
    losses = training.learn(obs)
    assert losses["kl"] == pytest.approx(0.0, abs=1e-6) and losses["clipped"] == 0.0
    if training.config.noisy:
        with torch.no_grad():
            images, rollout = torch.from_numpy(np.repeat(obs[:1], 3, axis=0)), slice(0, 3)
            state, starts = torch.zeros(3, 0), torch.zeros(3, dtype=torch.bool)
            policies, _, _ = training.collector.evaluate(
                images, rollout, state=state, starts=starts
            )
        assert not torch.equal(policies[0], policies[1])  # each environment has its own noise


def test_rewards_are_scaled_by_returns_of_their_own_discount(corridor, learned_from):
    training, envs = Training(replaced(QUICK, return_gamma=0.3), 3), corridor(3)
    obs = training.collector.play(envs, envs.reset()[0])
    raw, ended = training.collector.rollout.rewards.copy(), training.collector.rollout.ended
    training.learn(obs)
    expected, other = (
        ReturnScale(3, gamma=gamma)(raw, ended, Group()) for gamma in (0.3, QUICK.gamma)
    )
    np.testing.assert_allclose(learned_from["rewards"], expected, rtol=1e-5)
    assert (learned_from["gamma"], learned_from["lam"]) == (QUICK.gamma, QUICK.lam)
    assert not np.allclose(expected, other, rtol=1e-2)


def test_schedules_follow_the_part_of_the_run_before_the_rollout(corridor):
    config = replaced(QUICK, learning_rate=0.01, learning_rate_schedule="linear")
    training, envs, rates = Training(config, 3), corridor(3), []
    obs, _ = envs.reset()
    for _ in range(4):  # rollouts of 48 steps
        obs = training.collector.play(envs, obs)
        rates.append(training.learn(obs)["learning_rate"])
    assert rates == pytest.approx([0.01, 0.0075, 0.005, 0.0025])


@pytest.mark.parametrize(
    ("penalty", "weight"),
    [(0.2, 0.7), (0.5, 0.5), (0.0, 0.0)],
    ids=["the same penalty", "another", "none"],
)
def test_a_saved_kl_weight_goes_on_with_its_own_penalty_only(corridor, tmp_path, penalty, weight):
    begun, envs = Training(replaced(QUICK, kl_penalty=0.2), 3), corridor(3)
    envs.reset()
    begun.learner.kl_weight.fill_(0.7)
    begun.save(tmp_path, envs)
    training = Training(replaced(QUICK, kl_penalty=penalty), 3)
    training.restore(load_to_resume(tmp_path), corridor(3))
    assert float(training.learner.kl_weight) == pytest.approx(weight)


def test_the_share_of_detours_is_a_metric(corridor):
    training, envs = Training(replaced(QUICK, detour_after=2), 2), corridor(2)
    obs = training.collector.play(envs, envs.reset()[0])
    share = training.collector.detours.taken.mean()
    assert training.learn(obs)["detours"] == share > 0.0
