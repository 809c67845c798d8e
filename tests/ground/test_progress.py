import io

import pytest

from retro_agents.ground.progress import Progress


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(total, *, per_second, start=0):
    clock, stream = Clock(), io.StringIO()
    with Progress(total, "training", start=start, stream=stream, clock=clock) as progress:
        for step in range(start + 1, total + 1):
            clock.now += 1 / per_second
            progress.update(step, {"loss": 1 / 3})
    return stream.getvalue().splitlines()


def test_plain_lines_come_every_ten_seconds_and_at_the_end():
    assert run(200, per_second=8) == [
        "training: 80/200 steps, 8 steps/s, 15 s left, loss 0.3333",
        "training: 160/200 steps, 8 steps/s, 5 s left, loss 0.3333",
        "training: 200/200 steps in 25 s, 8 steps/s, 0 s left, loss 0.3333",
    ]


def test_a_short_run_says_one_line():
    assert run(3, per_second=10) == [
        "training: 3/3 steps in 0 s, 10 steps/s, 0 s left, loss 0.3333"
    ]


def test_speed_of_a_resumed_run_counts_its_own_steps_only():
    last = run(1050, per_second=10, start=1000)[-1]
    assert last.startswith("training: 1050/1050 steps in 5 s, 10 steps/s")


def test_a_run_that_is_over_says_that_nothing_is_left():
    said = ["training: nothing left to do, 50 of 30 steps were done before"]
    assert run(30, per_second=10, start=50) == said
    stream = Terminal()
    with Progress(30, "training", start=30, stream=stream):
        pass
    assert "nothing left to do, 30 of 30 steps" in stream.getvalue()


def test_units_other_than_steps_are_named():
    stream = io.StringIO()
    with Progress(1, "evaluate", unit="episodes", stream=stream) as progress:
        progress.update(1)
    assert stream.getvalue().startswith("evaluate: 1/1 episodes in 0 s")


def test_speed_is_of_the_last_half_minute():
    clock = Clock()
    progress = Progress(10**6, "x", stream=io.StringIO(), clock=clock)
    step = 0
    for rate in [100] * 60 + [10] * 40:
        clock.now += 1
        step += rate
        progress.update(step)
    assert progress.steps_per_second() == pytest.approx(10, rel=0.05)


def test_speed_is_of_whole_stretches_of_playing_and_learning():
    clock, stream = Clock(), io.StringIO()
    with Progress(2000, "x", stream=stream, clock=clock) as progress:
        for stretch in (0, 500):
            for second in range(1, 51):  # 10 steps a second while it plays,
                clock.now += 1
                progress.at(stretch + 10 * second)
            clock.now += 200  # but 2 a second with what it takes to learn
            progress.update(stretch + 500)
            assert progress.steps_per_second() == 2
        clock.now += 20
        progress.at(1200)
        assert progress.steps_per_second() == 2
    lines = stream.getvalue().splitlines()
    assert lines[0] == "x: 100/2000 steps, 10 steps/s, 3 min 10 s left"  # until there is one
    assert lines[-1] == "x: 1200/2000 steps, 2 steps/s, 6 min 40 s left"


def test_less_than_one_a_second_is_still_a_speed():
    clock, stream = Clock(), io.StringIO()
    with Progress(6, "sight", unit="plays", stream=stream, clock=clock) as progress:
        clock.now += 15
        progress.update(3)
    assert "0.2 plays/s" in stream.getvalue()


def test_nothing_is_said_of_a_speed_while_nothing_moves():
    clock, stream = Clock(), io.StringIO()
    progress = Progress(10, "x", stream=stream, clock=clock)
    for _ in range(2):
        clock.now += 10
        progress.update(0)
    assert stream.getvalue() == "x: 0/10 steps\n" * 2


def test_numbers_stay_until_they_change():
    clock, stream = Clock(), io.StringIO()
    with Progress(4, "x", stream=stream, clock=clock) as progress:
        progress.update(1, {"loss": 1.0, "q": 5.0})
        clock.now += 20
        progress.update(2, {"loss": 2.0})
    assert "loss 2, q 5" in stream.getvalue()


def test_nothing_done_yet_is_no_division_by_zero():
    progress = Progress(4, "x", stream=io.StringIO(), clock=Clock())
    assert progress.steps_per_second() == 0.0
    progress.update(0)


def test_long_times_are_readable():
    clock, stream = Clock(), io.StringIO()
    with Progress(100_000, "x", stream=stream, clock=clock) as progress:
        clock.now += 10
        progress.update(10)
    assert "27 h 46 min left" in stream.getvalue()


def test_a_terminal_gets_a_bar(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with Progress(10, "training", stream=stream) as progress:
        progress.update(10, {"loss": 0.5})
    assert "10/10" in stream.getvalue()
    assert "━" in stream.getvalue()


def test_the_newest_numbers_come_first_and_whole_ones_stay_whole():
    clock, stream = Clock(), io.StringIO()
    with Progress(4, "x", stream=stream, clock=clock) as progress:
        progress.update(1, {"updates": 3})
        progress.update(2, {"loss": 0.25, "updates": 123456})
    assert "loss 0.25, updates 123,456" in stream.getvalue()


def test_only_the_first_numbers_are_shown():
    stream = io.StringIO()
    with Progress(4, "x", stream=stream, clock=Clock()) as progress:
        progress.update(1, dict.fromkeys("abcdefgh", 1.0))
    assert stream.getvalue().endswith("a 1, b 1, c 1, d 1, e 1\n")


def test_the_score_comes_before_all_others():
    stream = io.StringIO()
    with Progress(4, "x", stream=stream, clock=Clock()) as progress:
        progress.update(1, {**dict.fromkeys("abcdefgh", 1.0), "mean_return": 7.0})
    assert stream.getvalue().endswith("mean_return 7, a 1, b 1, c 1, d 1\n")
