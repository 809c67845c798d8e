import dataclasses

import numpy as np
import pytest
import torch

from es.agent import ESAgent
from es.memory import Noise, Plan
from es.mpi import World
from es.rows import Members, RowEpisode, Rows, action_rng
from retro_agents.contract.envs import row_seeds
from retro_agents.games.families import make
from retro_agents.games.retro.make import make_env
from retro_agents.run.config import replaced
from tests.agents.tiny import images
from tests.es.lanes import LEVELS, Lanes, Start
from tests.es.test_agent import ppo2, rainbow


@pytest.mark.parametrize("draws", [False, True])
def test_actions_are_the_best_or_drawn_by_the_episodes_own_chance(quick, draws):
    torch.manual_seed(0)
    agent = ESAgent.start(replaced(quick, draw_actions=draws))
    rows = Rows(Lanes(2), agent, noise=Noise(0, len(agent.theta)), levels=LEVELS)
    rows.obs[:] = np.random.default_rng(0).integers(256, size=(4, 36, 36))
    theta = agent.theta * np.float32(300.0)  # an untrained policy hardly prefers anything
    for row in range(2):
        rows.members.put(row, theta)
        rows.episodes[row] = RowEpisode(row, np.random.default_rng(row))
    agent.theta = theta
    policy = agent.scores(torch.from_numpy(rows.obs[:1]))[0].softmax(dim=0).detach().numpy()
    assert 0.3 < policy.max() < 0.7
    expected = policy if draws else np.eye(7)[policy.argmax()]
    actions = np.stack([rows.act() for _ in range(4_000 if draws else 40)])
    for row in range(2):
        found = np.bincount(actions[:, row], minlength=7) / len(actions)
        np.testing.assert_allclose(found, expected, atol=0.04)  # 5 standard errors
    assert (actions[:, 0] != actions[:, 1]).any() == draws


def test_processes_begin_with_seeds_of_their_own(quick):
    agent, given = ESAgent.start(quick), []

    class Seeded(Lanes):
        def reset(self, *, seed=None, options=None):
            given.extend(seed)
            return super().reset(seed=seed, options=options)

    for first in (0, 2):
        Rows(Seeded(2), agent, noise=Noise(0, 1), levels=LEVELS, first=first)
    assert given == row_seeds(agent.config.run.seed, 4)


def plan_of(levels, *, pairs=1):
    return Plan(seed=3, generation=0, pairs=pairs, slots=levels, evaluates=True)


def play(envs, config, plan):
    """The records of a generation's episodes, and how many steps their rows took."""
    torch.manual_seed(0)
    agent = ESAgent.start(replaced(config, sigma=1.0))
    rows = Rows(envs, agent, noise=Noise(0, len(agent.theta)), levels=LEVELS)
    records, steps = rows.play(plan, World(), theta=agent.theta, budget=0)
    return np.sort(records, order="task"), steps


def test_returns_are_the_games_whatever_scale_rewards_have(quick):
    plain, _ = play(Lanes(1), quick, plan_of((0, 1), pairs=2))

    class Scaled(Lanes):
        env_spec = dataclasses.replace(Lanes.env_spec, reward_scale=0.25)

        def step_wait(self, part=slice(None)):
            obs, rewards, *rest = super().step_wait(part)
            return obs, rewards * 0.25, *rest

    scaled, _ = play(Scaled(1), quick, plan_of((0, 1), pairs=2))
    np.testing.assert_array_equal(plain, scaled)
    assert plain["total"].any()


def test_a_pair_plays_its_level_and_chance_with_sigma_times_its_noise_and_its_opposite(
    quick, monkeypatch
):
    agent, envs, given = ESAgent.start(replaced(quick, sigma=0.5)), Lanes(1), []
    rows = Rows(envs, agent, noise=Noise(0, len(agent.theta)), levels=LEVELS)
    monkeypatch.setattr(rows.members, "put", lambda row, theta: given.append(theta))
    plan = Plan(seed=3, generation=2, pairs=1, slots=(1,), evaluates=False)
    rows.play(plan, World(), theta=agent.theta, budget=0)
    assert envs.begun == 2 * [Start(1, plan.episode_seed(plan.task(0)))]
    moved = [theta - agent.theta for theta in given if (theta != agent.theta).any()]
    noise = 0.5 * Noise(0, len(agent.theta)).whole(2, 0)
    np.testing.assert_allclose(moved, [noise, -noise], atol=1e-6)


@pytest.mark.parametrize("rows", [1, 3])
def test_episodes_are_recorded_whole_and_rows_without_one_stand(quick, rows):
    envs = Lanes(rows)
    records, steps = play(envs, quick, plan_of((0, 1), pairs=2))
    assert records["task"].tolist() == list(range(6))
    assert envs.stepped == steps == records["steps"].sum()
    assert not envs.steps.any()  # all stand at an episode's beginning


class Recorder:
    """Environments that keep what each row sees and does from one reset to the next."""

    def __init__(self, envs):
        self.envs, self.actions, self.begun = envs, {}, []

    def __getattr__(self, name):
        return getattr(self.envs, name)

    def reset(self, *, seed, options=None):
        if options:
            for row in np.flatnonzero(options["reset_mask"]):
                self.actions[row] = []
                if options["levels"][row]:
                    self.begun.append((options["levels"][row], seed[row], self.actions[row]))
        return self.envs.reset(seed=seed, options=options)

    def step_async(self, actions, part):
        self.actions[part.start].append(int(actions[0]))
        self.envs.step_async(actions, part)


def test_episodes_of_real_levels_are_those_of_an_environment_alone(quick):
    config = replaced(quick, draw_actions=True, episode_steps=60)
    found = Recorder(make(",".join(LEVELS), config.env, num_envs=2, seed=0))
    records, _ = play(found, config, plan_of((0, 1), pairs=2))
    for number, record in enumerate(records):
        level, seed, actions = found.begun[number]
        env = make_env(level, config.env)
        env.reset(seed=seed)
        infos = [env.step(action)[-1] for action in actions]
        env.close()
        episode = infos[-1]["episode_record"]
        for name in ("r", "progress", "finished"):
            assert record[name] == np.float32(episode[name])
        assert record["steps"] == episode["l"] == len(actions)
    found.close()


def test_what_an_episode_draws_is_not_what_its_environment_draws():
    mine, theirs = action_rng(7), np.random.default_rng(7)
    assert not np.isin(mine.random(50), theirs.random(200)).any()


AGENTS = {"ppo2": ppo2(), "rainbow": rainbow(), "separate": rainbow(streams="separate")}


@pytest.mark.parametrize("layer", ["head", "fc"])
@pytest.mark.parametrize("source", list(AGENTS))
def test_each_row_has_the_scores_of_a_net_with_its_weights(quick, tmp_path, source, layer):
    AGENTS[source].save(tmp_path)
    config = replaced(quick, layer=layer)
    agent, rng = ESAgent.start(config, tmp_path), np.random.default_rng(0)
    members, start = Members(agent, 3), agent.theta
    thetas = [start + rng.normal(size=start.shape).astype(np.float32) for _ in range(3)]
    for row, theta in enumerate(thetas):
        members.put(row, theta)
    scores = members.scores(images(3))
    assert torch.equal(members.scores(images(3)), scores)
    np.testing.assert_array_equal(agent.theta, start)
    for row, theta in enumerate(thetas):
        agent.theta = theta
        alone = agent.scores(torch.from_numpy(images(3)[row : row + 1]))[0].detach()
        torch.testing.assert_close(scores[row], alone, rtol=1e-5, atol=1e-5)
    assert (scores[0] - scores[1]).abs().max() > 0.01


@pytest.mark.parametrize("layer", ["head", "fc"])
def test_rows_result_depends_on_no_other_row_nor_on_its_place(quick, layer):
    torch.manual_seed(0)
    agent = ESAgent.start(replaced(quick, layer=layer))
    thetas = [agent.theta * np.float32(scale) for scale in (1.0, 1.5, -2.0, 0.3)]
    obs = images(4)

    def scores(order):
        members = Members(agent, 4)
        for row, which in enumerate(order):
            members.put(row, thetas[which])
        return members.scores(obs[order])[order.index(1)]

    expected = scores([0, 1, 2, 3])
    for order in ([1, 0, 2, 3], [3, 2, 0, 1], [2, 3, 1, 0]):
        assert torch.equal(scores(order), expected)
