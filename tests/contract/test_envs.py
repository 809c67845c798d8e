"""What holds for every vector environment that an agent may train on."""

from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cache
from itertools import count

import msgspec
import numpy as np
import pytest

from retro_agents.contest.wire.remote_vec import RemoteVectorEnv
from retro_agents.contract.envs import ended_episodes, row_seeds, saved_states
from retro_agents.games import families
from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.retro.config import EnvConfig
from retro_agents.ground.errors import UserError
from tests.games.procgen.conftest import needs_procgen
from tests.games.streams import played

ACTS = [f"BrambleDash-Genesis-v0:BrambleWood.Act{number}" for number in (1, 2)]
SMALL = EnvConfig(image_height=20, image_width=24, frame_stack=2, episode_steps=9)
KINDS = ("retro", "native", "procgen", "remote", "corridor")


def retro(backend):
    settings = replace(SMALL, backend=backend)
    return families.make(",".join(ACTS), settings, num_envs=2, seed=3)


@pytest.fixture(scope="module")
def emulators():
    """By number, environments in emulators, which take seconds to start."""
    with ExitStack() as stack:
        yield cache(lambda number: stack.enter_context(closing(retro("emulator"))))


@pytest.fixture
def used(make, emulators):
    """As `make`; others may have played on what it gives, until it is reset with a seed."""
    numbers = count()
    return lambda kind: emulators(next(numbers)) if kind == "retro" else make(kind)


@pytest.fixture
def make(start, toy, corridor, closed):  # which ends before the server does
    """Kind -> environments of it; each call opens others of the same make."""

    def open_envs(kind):
        if kind in ("retro", "native"):
            return retro("native" if kind == "native" else "emulator")
        if kind == "procgen":
            needs_procgen()
            config = ProcgenConfig(frames="0,-3", num_levels=20, stick_probability=0.1)
            return families.make("procgen:bigfish,bossfight", config, num_envs=2, seed=3)
        if kind == "remote":
            return RemoteVectorEnv(start(toy(length=4)).folder, config=SMALL, level="toy")
        return corridor(2)

    return lambda kind: closed(open_envs(kind))


def drawn(envs, steps):
    rng = np.random.default_rng(0)
    return rng.integers(envs.env_spec.actions, size=(steps, envs.num_envs))


@pytest.mark.parametrize("kind", KINDS)
def test_spec_says_what_is_seen_and_done(used, kind):
    envs = used(kind)
    spec = envs.env_spec
    obs, _ = envs.reset(seed=0)
    assert obs.shape == (envs.num_envs, *spec.observation_shape) and obs.dtype == np.uint8
    assert spec.observation_shape[0] == spec.frame_stack * spec.channels
    assert envs.single_action_space.n == spec.actions == len(set(spec.action_names))
    assert len(envs.levels) == envs.num_envs


@pytest.mark.parametrize("kind", KINDS)
def test_ended_rows_go_on_with_the_next_episode_and_keep_their_own_last_observation(used, kind):
    envs = used(kind)
    obs, _ = envs.reset(seed=0)
    lengths, episodes, seen = np.zeros(envs.num_envs, int), [], []

    def frames(images, env):
        return images[env].reshape(envs.env_spec.frame_stack, -1)

    for actions in drawn(envs, 600 if kind == "procgen" else 60):
        before, seen = list(envs.levels), [*seen, obs]
        obs, rewards, terminated, truncated, infos = envs.step(actions)
        assert rewards.shape == terminated.shape == truncated.shape == (envs.num_envs,)
        assert not (terminated & truncated).any()
        lengths += 1
        ended = {episode["env"]: episode for episode in ended_episodes(infos)}
        assert set(ended) == set(np.flatnonzero(terminated | truncated))
        for env, episode in ended.items():
            assert episode["l"] == lengths[env] and episode["level"] == before[env]
            assert isinstance(episode["finished"], bool)
            last, first = frames(infos["final_obs"], env), frames(obs, env)
            for age, frame in zip(envs.env_spec.steps_back[:-1], last[:-1], strict=True):
                then = seen[-min(age, lengths[env])]
                np.testing.assert_array_equal(frame, frames(then, env)[-1])
            # The next episode's first observation fills its stack.
            assert (first == first[0]).all() and not (last == first).all()
            lengths[env] = 0
            episodes.append(episode)
    assert len(episodes) >= 4


@pytest.mark.parametrize("kind", ("retro", "native", "procgen", "corridor"))
def test_rows_in_parts_are_the_rows_together(used, kind):
    one, other = used(kind), used(kind)
    for envs in (one, other):
        envs.reset(seed=5)
    for actions in drawn(one, 20):
        whole = one.step(actions)
        parts = (slice(0, 1), slice(1, 2))
        for part in parts:
            other.step_async(actions[part], part)
        halves = [other.step_wait(part) for part in reversed(parts)][::-1]
        for index in range(4):
            together = np.concatenate([half[index] for half in halves])
            np.testing.assert_array_equal(whole[index], together)
        ended = ended_episodes(whole[4])
        assert [episode for half in halves for episode in ended_episodes(half[4])] == ended
        for env in (episode["env"] for episode in ended):
            last, same = (infos["final_obs"][env] for infos in (whole[4], halves[env][4]))
            np.testing.assert_array_equal(last, same)
    for part in reversed(parts):
        other.step_async(actions[part], part)
    np.testing.assert_equal(other.step_wait()[:4], one.step(actions)[:4])


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_run_goes_on_exactly_or_says_that_it_cannot(make, used, kind):
    envs = used(kind)
    envs.reset(seed=1)
    for actions in drawn(envs, 3):
        envs.step(actions)
    states = saved_states(envs)
    if not envs.saves_states:
        assert states == []
        with pytest.raises(UserError, match="--init"):
            envs.restore_states(states)
        return
    other = make(kind)
    other.restore_states(msgspec.msgpack.decode(msgspec.msgpack.encode(states)))
    np.testing.assert_equal(played(envs, 30, seed=0), played(other, 30, seed=0))


@pytest.mark.parametrize("kind", ("retro", "native"))
def test_a_row_begins_anew_on_a_level_and_seed_of_its_own(used, kind):
    envs, alone = used(kind), used(kind)
    envs.reset(seed=0)
    for actions in drawn(envs, 4):
        before, *_ = envs.step(actions)
    mask = np.array([False, True])
    obs, infos = envs.reset(
        seed=[None, 77], options={"reset_mask": mask, "levels": [None, ACTS[0]]}
    )
    np.testing.assert_array_equal(obs[0], before[0])
    (cut,) = ended_episodes(infos)
    assert (cut["env"], cut["l"], cut["level"], cut["finished"]) == (1, 4, ACTS[1], False)
    assert envs.levels == [ACTS[0], ACTS[0]]
    first, _ = alone.reset(seed=[77, 0], options={"levels": [ACTS[0], None]})
    np.testing.assert_array_equal(obs[1], first[0])
    for actions in drawn(envs, 12):  # beyond the end of an episode: then it is the row's own level
        mine, theirs = envs.step(actions), alone.step(actions[::-1])
        if mine[3][1]:
            break
        np.testing.assert_array_equal(mine[0][1], theirs[0][0])
        assert mine[1][1] == theirs[1][0]
    assert envs.levels[1] == ACTS[1]


@pytest.mark.parametrize("backend", ["native", "emulator"])
@pytest.mark.parametrize("rotate_every", [0, 5])
def test_a_seed_begins_with_the_same_levels_again(backend, rotate_every, closed):
    levels = ",".join(
        [*ACTS, "RustCavern.Act1", "RustCavern.Act3", "SnowRidge.Act1", "SkyIsles.Act1"]
    )
    settings = replace(SMALL, backend=backend)
    envs = closed(families.make(levels, settings, num_envs=2, seed=3, rotate_every=rotate_every))
    first, infos = envs.reset(seed=1)
    once = played(envs, 12, seed=0)
    assert envs.levels != list(infos["level"])
    again, their_infos = envs.reset(seed=1)
    assert list(infos["level"]) == list(their_infos["level"])
    np.testing.assert_array_equal(first, again)
    np.testing.assert_equal(once, played(envs, 12, seed=0))


@pytest.mark.parametrize("backend", ["native", "emulator"])
def test_a_reset_before_the_next_episodes_first_step_skips_no_level(backend, closed):
    settings, levels = replace(SMALL, backend=backend), ",".join([*ACTS, "RustCavern.Act1"])
    envs, seen = closed(families.make(levels, settings, num_envs=1, seed=3)), set[str]()
    envs.reset()
    for _ in range(3):
        for _ in range(9):
            envs.step(np.ones(1, int))
        seen |= {*(following := list(envs.levels))}
        envs.reset()
        assert envs.levels == following
    assert len(seen) == 3


@pytest.mark.parametrize("kind", ("retro", "native"))
def test_a_mask_of_another_kind_resets_nothing(used, kind):
    envs = used(kind)
    envs.reset(seed=0)
    for _ in range(4):
        envs.step(np.ones(2, int))
    for mask in (np.array([1, 0]), np.ones(1, bool), np.ones(3, bool)):
        with pytest.raises(ValueError, match=r"expected bool \[2\]"):
            envs.reset(options={"reset_mask": mask})
    for _ in range(5):
        *_, infos = envs.step(np.ones(2, int))
    assert [episode["l"] for episode in ended_episodes(infos)] == [9, 9]


@pytest.mark.parametrize("other", [{"image_height": 24, "image_width": 20}, {"frame_stack": 4}])
def test_states_of_other_pictures_are_refused(other, closed):
    def made(**changes):
        return closed(families.make(ACTS[0], replace(SMALL, **changes), num_envs=1, seed=3))

    envs = made(image_height=40) if "frame_stack" in other else made()
    envs.reset(seed=1)
    with pytest.raises(UserError, match="pictures of another size"):
        made(**other).restore_states(envs.save_states())


def test_seeds_of_rows_do_not_depend_on_how_many_there_are():
    assert row_seeds(4, 3) == row_seeds(4, 8)[:3]
    assert len(set(row_seeds(4, 8) + row_seeds(5, 8))) == 16


@pytest.mark.parametrize("kind", ["retro", "native"])
def test_rows_that_are_first_reset_apart_play_as_if_reset_together(make, kind):
    apart, together = make(kind), make(kind)
    for mask in ([True, False], [False, True]):
        apart.reset(options={"reset_mask": mask})
    together.reset()
    np.testing.assert_equal(played(apart, 30, seed=0), played(together, 30, seed=0))
