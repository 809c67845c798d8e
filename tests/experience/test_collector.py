from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ppo2.agent import PPO2Agent, make_net
from retro_agents.experience.collector import Collector
from retro_agents.experience.on_policy import check_run
from retro_agents.experience.values import next_values
from retro_agents.games.retro.make import make_vec
from retro_agents.ground.errors import UserError
from retro_agents.run.agents import find
from retro_agents.run.distributed import Group
from tests.agents.tiny import tiny
from tests.games.retro.conftest import BRAMBLE


def policy_of(*flags):
    """A policy of chance, with a net that is never trained."""
    config = tiny("ppo2", "--timesteps", "240", *flags)
    torch.manual_seed(0)
    return PPO2Agent(make_net(config), config)


def collector_of(num_envs, *, policy=None, **settings):
    return Collector(
        policy or policy_of(), num_envs, rollout_steps=16, return_gamma=0.9, **settings
    )


def test_a_part_waits_for_its_own_emulators_only_and_every_step_is_told(corridor):
    collector, envs, calls, told = collector_of(2, act_parts=2), corridor(2), [], []
    begin, wait = envs.step_async, envs.step_wait
    envs.step_async = lambda actions, part: calls.append(("go", part.start)) or begin(actions, part)
    envs.step_wait = lambda part: calls.append(("wait", part.start)) or wait(part)
    collector.play(envs, envs.reset()[0], on_step=told.append)
    start, end = [("go", 0), ("go", 1)], [("wait", 0), ("wait", 1)]
    between = [("wait", 0), ("go", 0), ("wait", 1), ("go", 1)]
    assert calls == [*start, *15 * between, *end]  # from the first step to the last
    assert collector.rollout.full and collector.env_steps == 32
    assert told == [2 * step for step in range(1, 17)]


def test_parts_play_what_all_would_play_together(corridor):
    played = []
    for parts in (1, 3):
        collector, envs = collector_of(3, act_parts=parts), corridor(3)
        collector.play(envs, envs.reset()[0])
        played.append(collector.rollout)
    assert torch.equal(played[0].actions, played[1].actions)
    assert torch.equal(played[0].obs, played[1].obs)
    np.testing.assert_array_equal(played[0].rewards, played[1].rewards)


def test_values_of_states_reached_are_those_before_a_reset(corridor):
    collector, envs = collector_of(2), corridor(2)
    obs = envs.reset()[0]
    envs.steps[:] = 22  # of 30, at which an episode is cut
    obs = collector.play(envs, obs)
    found, rollout = next_values(collector, obs)[..., 0], collector.rollout
    assert rollout.finals
    starts, state = torch.zeros(1, dtype=torch.bool), torch.zeros(1, 0)
    for (t, env), image in rollout.finals.items():
        _, value, _ = collector.policy.evaluate(
            torch.from_numpy(image[None].copy()), state=state, starts=starts
        )
        assert found[t, env] == pytest.approx(float(value), abs=1e-6)
    goes_on = ~rollout.ended[:-1]
    np.testing.assert_allclose(found[:-1][goes_on], rollout.values[1:].numpy()[goes_on], atol=1e-6)


def test_progress_and_ended_episodes_are_kept_by_environment(corridor):
    collector, envs = collector_of(1, policy=policy_of("--reward-scale", "0.5")), corridor(1)
    obs, _ = envs.reset()
    for action in (1, 1, 1, 1, 1, 0):  # the fourth step falls into the hole
        collector.act(obs, slice(0, 1))
        obs, rewards, *rest = envs.step(np.array([action]))
        collector.add((0.5 * rewards, *rest), levels=envs.levels, part=slice(0, 1))
    assert collector.rollout.progress[:6, 0].tolist() == [1.0, 2.0, 3.0, 3.0, 1.0, 1.0]
    collector, envs, everyone = collector_of(3), corridor(3), slice(0, 3)
    collector.act(envs.reset()[0], everyone)
    envs.position[:] = [3, 7, 0]
    outcome = envs.step(np.array([1, 1, 1]))[1:]  # falls, ends, goes on
    collector.add(outcome, levels=envs.levels, part=everyone)
    assert outcome[1].tolist() == [True, True, False]
    assert collector.rollout.rewards[0].tolist() == [0.0, 1.0, 1.0]
    assert [(step, env) for step, env, _ in collector.episodes] == [(3, 0), (3, 1)]


def test_returns_are_told_by_their_mean_and_ends():
    collector = collector_of(1)
    assert collector.returns() == {}
    collector.recent_returns.extend((3.0, 1.0, 2.0))
    assert collector.returns() == {"mean_return": 2.0, "min_return": 1.0, "max_return": 3.0}


def test_a_run_whose_levels_were_remote_is_not_gone_on_with():
    state = {"rngs": [1, 2], "envs": []}
    saved = SimpleNamespace(folder="there", state=state, check_run=lambda part: None)
    with pytest.raises(UserError, match=r"there holds no states .*: begin anew with --init"):
        check_run(saved, SimpleNamespace(num_envs=2, group=Group()))


@pytest.mark.parametrize("colour", ["grey", "rgb"])
def test_frames_that_are_put_together_on_the_device_are_the_observations(colour):
    rollouts = []
    for graphs in (False, True):
        policy = policy_of("--colour", colour, "--episode-steps", "9")
        collector = collector_of(4, policy=policy, graphs=graphs, act_parts=2)
        assert (collector.frames is not None) == graphs
        with closing(make_vec([BRAMBLE], num_envs=4, config=policy.config.env)) as envs:
            obs = collector.play(envs, envs.reset(seed=0)[0])
            collector.begin_rollout()
            obs = collector.play(envs, envs.restore_states(envs.save_states()))  # as on resuming
            rollouts.append((collector.rollout.obs.numpy(), next_values(collector, obs)))
    for one, other in zip(*rollouts, strict=True):
        np.testing.assert_array_equal(one, other)


def test_two_processes_do_not_train_a_net_with_running_moments(monkeypatch):
    monkeypatch.setattr(Group, "__init__", lambda group: vars(group).update(rank=0, size=2))
    config = tiny("ppo2", "--encoder", "impala", "--encoder-parts", "batch-norm")
    with pytest.raises(UserError, match="start one process"):
        find("ppo2").part("training", "Training")(config, 2)


def test_detours_are_played_and_marked_as_not_the_policys(corridor):
    collector, envs, sent = collector_of(2, detour_after=3), corridor(2), []
    begin = envs.step_async
    envs.step_async = lambda actions, part: sent.append(actions) or begin(actions, part)
    collector.play(envs, envs.reset()[0])
    taken, actions = collector.detours.taken, collector.rollout.actions.numpy()
    np.testing.assert_array_equal(sent, actions)
    own = collector.batch(np.zeros((16, 2), np.float32)).own
    np.testing.assert_array_equal(own.unflatten(0, (16, 2)), ~taken)
    assert collector.detour_share() == {"detours": taken.mean()}
    for env, rng in enumerate(collector_of(2, detour_after=3).detours.rngs):
        begins = np.flatnonzero(taken[:, env])[0]
        count = np.flatnonzero(~np.append(taken[begins:, env], False))[0]
        expected = collector.detours.draw(rng)[:count]
        assert actions[begins : begins + count, env].tolist() == expected


def test_detours_are_drawn_by_the_seed_and_told_of_progress_and_of_every_end(corridor):
    collector, envs, told = collector_of(1, detour_after=99, seed=5), corridor(1), []
    drawn = [collector_of(1, detour_after=99, seed=seed).detours.rngs[0] for seed in (5, 6)]
    one, other = (rng.random() for rng in drawn)
    assert collector.detours.rngs[0].random() == one != other
    look = collector.detours.look
    collector.detours.look = lambda part, *, progress, ended, **more: (
        told.append((progress.item(), ended.item()))
        or look(part, progress=progress, ended=ended, **more)
    )
    obs, _ = envs.reset()
    envs.steps[:] = envs.limit - 3  # which cuts the episode at the third step
    for action in (1, 1, 0):
        collector.act(obs, slice(0, 1))
        obs, *outcome = envs.step(np.array([action]))
        collector.add(outcome, levels=envs.levels, part=slice(0, 1))
    assert told == [(1.0, False), (2.0, False), (2.0, True)]
