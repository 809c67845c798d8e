import numpy as np
import pytest

from retro_agents.experience.detours import BACK, FORWARD, JUMP, PERIOD, Detours, check_moves
from retro_agents.ground.errors import UserError

NAMES = ("LEFT", "RIGHT", "LEFT DOWN", "RIGHT DOWN", "DOWN", "DOWN B", "B")
STEPS = 400


def detours(patience=5, num_envs=1, *, first=0, seed=3):
    numbers = range(first, first + num_envs)
    return Detours(patience, names=NAMES, seed=seed, numbers=numbers, steps=STEPS)


def play(one, *, progress=lambda step: 0.0, ended=lambda step: False, steps=STEPS, start=0):
    """The actions of its environments [T,N], which would all play 4."""
    part, played = slice(0, len(one.rngs)), []
    for step in range(start, steps):
        played.append(one.overrule(np.full(part.stop, 4), part, step=step))
        outcome = np.full(part.stop, progress(step)), np.full(part.stop, ended(step))
        one.look(part, step=step, progress=outcome[0], ended=outcome[1])
    return np.array(played)


def stretches(flags):
    """The lengths of alternating stretches, beginning with one of False."""
    edges = np.flatnonzero(np.diff(np.r_[0, flags.astype(int), 1 - flags[-1]]))
    return np.diff(np.r_[0, edges]).tolist()


def test_detours_begin_whenever_the_policy_has_made_no_progress_for_long():
    one, twin = detours(patience=5), detours()
    actions = play(one)[:, 0]
    taken = one.taken[:, 0]
    np.testing.assert_array_equal(actions == 4, ~taken)
    drawn = np.concatenate([twin.draw(twin.rngs[0]) for _ in range(20)])
    np.testing.assert_array_equal(actions[taken], drawn[: taken.sum()])
    lengths = stretches(taken)
    assert set(lengths[:-1:2]) == {5} and len(lengths) > 10
    least, most = (BACK[k] + FORWARD[k] for k in (0, 1))
    assert all(least <= length <= most for length in lengths[1:-1:2])
    assert len(set(lengths[1:-1:2])) > 5


def test_a_detour_leads_back_and_then_forward_in_a_rhythm_of_jumps():
    one = detours()
    jumps, gaps = set(), set()
    for _ in range(300):
        actions = np.array(one.draw(one.rngs[0]))
        ways = actions[actions != 6]
        assert set(ways) <= {0, 1} and (np.diff(ways) >= 0).all()
        forward = stretches(actions[-FORWARD[0] :] == 6)
        gaps |= {*forward[2:-1:2]}  # between two jumps
        jumps |= {*forward[3:-1:2]}  # between two gaps
    assert jumps == {*range(JUMP[0], JUMP[1] + 1)}
    assert min(gaps) >= 1 and max(gaps) <= PERIOD[1] - JUMP[0]


def test_progress_ends_a_detour_and_the_wait_for_one():
    one = detours(patience=5)
    play(one, steps=8)
    assert one.taken[:8, 0].tolist() == [False] * 5 + [True] * 3
    play(one, progress=lambda step: 2.0, start=8, steps=15)
    assert one.taken[8:15, 0].tolist() == [True] + [False] * 5 + [True]  # 2.0 was reached once
    play(one, ended=lambda step: step == 15, progress=lambda step: 1.0, start=15, steps=30)
    assert not one.taken[16:22].any() and one.taken[22].all()  # progress counts anew
    other = detours(patience=5)
    play(other, progress=lambda step: float(step >= 3), steps=10)
    assert other.taken[:10, 0].tolist() == [False] * 9 + [True]


def test_rounding_is_no_progress_but_small_steps_add_up_to_some():
    """At a wall, rewards of single precision add up to a little more from time to time."""
    one, other = detours(patience=5), detours(patience=5)
    play(one, progress=lambda step: 300.0 + 1e-6 * step, steps=8)
    assert one.taken[:8, 0].tolist() == [False] * 6 + [True] * 2
    play(other, progress=lambda step: 0.06 * step)
    assert not other.taken.any()


def test_an_environment_plays_the_same_wherever_it_is_played():
    together, apart = detours(num_envs=3), detours(num_envs=2, first=1)
    played = play(together)
    np.testing.assert_array_equal(played[:, 1:], play(apart))
    for other in (played[:, 1], play(detours(seed=4))[:, 0]):
        assert (played[:, 0] != other).any()


def test_a_restored_one_goes_on_exactly():
    whole, one, other = detours(num_envs=2), detours(num_envs=2), detours(num_envs=2)
    expected = play(whole)
    play(one, steps=37)
    other.restore(one.rows(37))
    np.testing.assert_array_equal(play(other, start=37), expected[37:])
    np.testing.assert_array_equal(other.taken, whole.taken)


def test_games_without_jumps_are_refused():
    check_moves(NAMES)
    with pytest.raises(UserError, match="platform games, with an action B: give 0"):
        check_moves(("LEFT", "RIGHT"))
