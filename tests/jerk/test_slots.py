from types import SimpleNamespace

import numpy as np
import pytest

from jerk import slots
from jerk.slots import BEYOND, MOST, Slot, Variant
from tests.jerk.driving import MOVES, rng

B, RIGHT, LEFT = MOVES.right_jump, MOVES.right, MOVES.left


def running(*jumps, length=100):
    """A sequence to the right, with (first step, steps held) of each jump."""
    actions = np.full(length, RIGHT, np.uint8)
    for first, held in jumps:
        actions[first : first + held] = B
    return actions


def lengths_of_jumps(actions):
    """First step -> steps held, found by walking along."""
    found, step = {}, 0
    while step < len(actions):
        held = 0
        while step + held < len(actions) and actions[step + held] == B:
            held += 1
        if held:
            found[step] = held
        step += max(1, held)
    return found


def test_jumps_of_a_slot_are_those_that_begin_in_it():
    actions = running((0, 2), (18, 4), (30, 3), (40, 5))
    assert slots.jumps_in(actions, Slot(20, 40), jump=B) == [30]
    assert slots.jumps_in(actions, Slot(0, 19), jump=B) == [0, 18]


def test_an_edit_moves_lengthens_drops_or_adds_a_jump_and_keeps_the_rest():
    actions, slot, random = running((30, 3), (80, 4)), Slot(20, 44), rng()
    moved = held = dropped = added = 0
    for _ in range(3000):
        changes = slots.edit(actions, slot, random, moves=MOVES)
        assert all(actions[step] != action for step, action in changes.items())
        assert all(16 <= step <= 52 for step in changes) and set(changes.values()) <= {B, RIGHT}
        changed = slots.applied(actions, [Slot(20, 44, [Variant(changes)])], [0])
        assert len(changed) == len(actions)
        jumps = lengths_of_jumps(changed)
        assert jumps.pop(80) == 4
        moved += len(jumps) == 1 and 30 not in jumps and set(jumps.values()) == {3}
        held += len(jumps) == 1 and jumps.get(30) in (1, 2, 4, 5)
        dropped += not jumps
        added += len(jumps) >= 2
    assert min(moved, held, dropped, added) > 200
    assert lengths_of_jumps(actions) == {30: 3, 80: 4}


@pytest.mark.parametrize(("first", "way", "moved"), [(1, 0.9, 0), (3, 0.1, 4)])
def test_a_jump_is_moved_no_further_than_to_an_end_of_the_sequence(first, way, moved):
    actions, slot = running((first, 2), length=6), Slot(0, 5)
    draws = iter([0.9, 0.0, 0.0, 0.9, way])  # one change: move the only jump 4 steps, this way
    random = SimpleNamespace(random=lambda: next(draws))
    changes = slots.edit(actions, slot, random, moves=MOVES)
    assert lengths_of_jumps(slots.applied(actions, [Slot(0, 5, [Variant(changes)])], [0])) == {
        moved: 2
    }


def test_a_replay_passes_the_slots_it_got_beyond_and_fails_in_the_one_it_ended_in():
    places = [Slot(0, 24, [Variant(), Variant()]), Slot(40, 60, [Variant()])]
    for ended in (10, 24 + BEYOND, 25 + BEYOND, 50, 61 + BEYOND):
        slots.judge(places, [1, 0], ended)
    tried, untried, later = places[0].variants[1], places[0].variants[0], places[1].variants[0]
    assert (tried.passes, tried.failures) == (3, 2)
    assert (untried.passes, untried.failures) == (0, 0)
    assert (later.passes, later.failures) == (1, 1)


def test_a_failure_opens_a_slot_that_counts_earlier_replays():
    made = slots.opened([], 50, length=200, ends=[200, 40, 65, 64, 50])
    assert (made.first, made.last) == (26, 50)
    assert (made.variants[0].passes, made.variants[0].failures) == (2, 3)
    assert made.variants[0].changes == {}


@pytest.mark.parametrize(
    ("there", "ended", "wanted"),
    [
        ((26, 50), 50 + BEYOND, None),  # lies in it
        ((26, 50), 51 + BEYOND, (51, 65)),  # next to it
        ((26, 44), 70, (46, 70)),
        ((80, 104), 100, None),
        ((60, 64), 200, None),  # the replay came through
    ],
)
def test_slots_leave_each_other_room(there, ended, wanted):
    made = slots.opened([Slot(*there, [Variant()])], ended, length=200, ends=[ended])
    assert (made and (made.first, made.last)) == wanted


def test_thompson_sampling_plays_the_better_variant_more_and_more():
    chances, random = (0.3, 0.8), rng()
    slot = Slot(0, 24, [Variant(), Variant({3: B})])
    chosen = []
    for _ in range(400):
        (variant,) = slots.choose([slot], running(), random, done=1.0, moves=MOVES)
        chosen.append(variant)
        passed = random.random() < chances[variant]
        slots.judge([slot], [variant], 25 + BEYOND if passed else 10)
    assert np.mean(chosen[:20]) < np.mean(chosen[-100:])
    assert np.mean(chosen[-100:]) > 0.9 and slots.likeliest([slot]) == [1]


def test_new_variants_come_where_the_old_fail_and_not_near_the_end_of_a_run():
    def made(done, *, ended):
        slot, random = Slot(20, 44, [Variant()]), rng()
        for _ in range(400):
            chosen = slots.choose([slot], running((30, 3)), random, done=done, moves=MOVES)
            slots.judge([slot], chosen, ended)
        return len(slot.variants)

    assert made(0.9, ended=30) == 1
    assert made(0.5, ended=100) < 10 < made(0.5, ended=30) <= MOST
