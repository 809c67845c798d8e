from collections import Counter

import numpy as np
import pytest

from jerk.explorer import Rhythm, Script, ScriptPart, load_scripts, play_script
from retro_agents.games.retro.config import SEVEN
from retro_agents.ground.errors import UserError
from tests.jerk.driving import MOVES, rng

B, RIGHT, LEFT = (SEVEN.index(name) for name in ("B", "RIGHT", "LEFT"))


def played(explorer, steps, *, scripts="seven-buttons"):
    random = rng(3)
    return [explorer.next_action(random, moves=MOVES, scripts=scripts) for _ in range(steps)]


def test_rhythm_holds_the_jump_at_the_beginning_of_each_period():
    explorer = Rhythm(period=5, hold=2, clock=4)
    assert played(explorer, 8) == [RIGHT, B, B, RIGHT, RIGHT, RIGHT, B, B]


def test_rhythms_are_drawn_evenly_within_their_ranges():
    random = rng()
    drawn = [Rhythm.drawn(random) for _ in range(4000)]
    counts = Counter((one.period, one.hold) for one in drawn)
    assert {one.period for one in drawn} == set(range(10, 23))
    assert {one.hold for one in drawn} == set(range(2, 6))
    assert min(counts.values()) > 40 and max(counts.values()) < 120  # of 77
    assert all(0 <= one.clock < one.period for one in drawn)


def test_script_begins_after_six_still_steps_and_is_played_to_its_end():
    explorer = Rhythm(period=10, hold=2, clock=5)
    for _ in range(5):
        explorer.add(1.9)
    assert played(explorer, 1) and explorer.queue == []
    explorer.add(-1.9)
    assert played(explorer, 1) and explorer.queue
    left = explorer.queue[::-1]
    explorer.add(50.0)  # it moves again: the script goes on
    assert played(explorer, len(left)) == left and explorer.queue == []
    assert played(explorer, 1) == [RIGHT]


def test_without_scripts_it_keeps_its_rhythm_where_it_is_stuck():
    explorer = Rhythm(period=4, hold=1, clock=0, still=100)
    assert played(explorer, 8, scripts="") == [B, RIGHT, RIGHT, RIGHT] * 2


def test_a_script_is_played_from_its_beginning_and_drawn_by_the_time_without_progress(monkeypatch):
    told = []
    script = lambda *_, late, **__: told.append(late) or [RIGHT, LEFT, B]  # noqa: E731
    monkeypatch.setattr("jerk.explorer.play_script", script)
    for since in (10, 50):
        explorer = Rhythm(period=4, hold=1, clock=0, still=9, since=since)
        assert played(explorer, 3) == [RIGHT, LEFT, B]
    assert told == [0.25, 1.0]


def test_steps_since_the_furthest_point_begin_again_where_it_is_passed():
    explorer = Rhythm(period=4, hold=1, clock=0)
    since = []
    for reward in (5.0, -3.0, 3.5, 1.0, 9.0):
        explorer.add(reward)
        since.append(explorer.since)
    assert since == [0, 1, 2, 0, 0]  # half a point further is no furthest point yet


def test_scripts_are_drawn_by_their_chances_early_and_late():
    table = (
        Script("a", (0.6, 0.3), (ScriptPart(press="B"),)),
        Script("b", (0.2, 0.5), (ScriptPart(press="LEFT"),)),
        Script("c", (0.2, 0.2), (ScriptPart(press="RIGHT"),)),
    )
    for late, wanted in ((0.0, 0.6), (0.5, 0.45), (1.0, 0.3)):
        random = rng(1)
        drawn = [play_script(table, random, late=late, names=SEVEN)[0] for _ in range(4000)]
        assert drawn.count(B) / 4000 == pytest.approx(wanted, abs=0.03)


def test_parts_have_their_lengths_odds_and_repeats():
    parts = (
        ScriptPart(press={"LEFT": 0.75, "RIGHT": 0.25}, steps=(2, 2), later=(2, 4)),
        ScriptPart(maybe=0.5, repeat=(2, 2), parts=(ScriptPart(press="B", steps=(3, 3)),)),
    )
    table, random = (Script("one", (1.0, 1.0), parts),), rng()
    early = [play_script(table, random, late=0.0, names=SEVEN) for _ in range(2000)]
    assert {len(one) for one in early} == {2, 8}
    assert np.mean([one[0] == LEFT for one in early]) == pytest.approx(0.75, abs=0.03)
    assert np.mean([len(one) == 8 for one in early]) == pytest.approx(0.5, abs=0.04)
    late = [play_script(table, random, late=1.0, names=SEVEN) for _ in range(2000)]
    assert {len(one) for one in late} == {2, 3, 4, 8, 9, 10}
    longer = (Script("one", (1.0, 1.0), (ScriptPart(press="B", steps=(3, 8), later=(20, 30)),)),)
    late = [play_script(longer, random, late=1.0, names=SEVEN) for _ in range(2000)]
    assert {len(one) for one in late} == set(range(20, 31))


ONE = "- {name: a, chance: [1, 1], parts: [%s]}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ONE % "{press: UP}", "presses 'UP'"),
        (ONE % "{parts: [{press: UP}]}", "presses 'UP'"),
        (ONE % "{press: B, step: [1, 2]}", "holds no scripts"),
        ("- [", "holds no scripts"),
        ("[]", "holds no scripts"),
        ("[" * 500, "nested too deeply"),
        (ONE % "{press: {B: 9, B: 1}}", "'B' is given twice"),
        (ONE % "{press: {}}", "holds no scripts"),
        ("\x00\udcff", "holds no scripts"),
        (ONE % "&a {parts: [*a]}", "holds no scripts"),
        ("- {name: a, chance: [-1, 1], parts: [{press: B}]}", "other than finite numbers of 0"),
        (ONE % "{press: {B: .nan}}", "than finite numbers of 0"),
        (ONE % "{press: B, steps: [6, 2]}", r"a has \[6, 2\]"),
        (ONE % "{repeat: [2, 1], parts: [{press: B}]}", r"a has \[2, 1\]"),
        (ONE % "{parts: [{press: B, later: [3, 2]}]}", r"a has \[3, 2\]"),
        (ONE % "{press: B, parts: [{press: B}]}", "both parts and press"),
    ],
)
def test_wrong_scripts_are_refused_in_one_line(tmp_path, text, says):
    (tmp_path / "own.yaml").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(UserError, match=says) as error:
        load_scripts(str(tmp_path / "own.yaml"), SEVEN)
    assert r"\n" not in str(error.value)  # as which a UserError shows a line break
