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


def said(total, *updates, start=0, **options):
    """What is said of steps (number, values), each so many seconds after the one before."""
    clock, stream = Clock(), io.StringIO()
    with Progress(total, "x", start=start, stream=stream, clock=clock, **options) as progress:
        for step, values, seconds in updates:
            clock.now += seconds
            progress.update(step, values)
    return stream.getvalue()


def steps(first, last, *, per_second):
    """One update for each."""
    return [(step, {"loss": 1 / 3}, 1 / per_second) for step in range(first, last + 1)]


def test_plain_lines_come_every_ten_seconds_and_at_the_end():
    assert said(200, *steps(1, 200, per_second=8)).splitlines() == [
        "x: 80/200 steps, 8 steps/s, 15 s left, loss 0.3333",
        "x: 160/200 steps, 8 steps/s, 5 s left, loss 0.3333",
        "x: 200/200 steps in 25 s, 8 steps/s, 0 s left, loss 0.3333",
    ]
    short = said(3, *steps(1, 3, per_second=10))
    assert short == "x: 3/3 steps in 0 s, 10 steps/s, 0 s left, loss 0.3333\n"
    assert said(1, (1, {}, 0), unit="episodes").startswith("x: 1/1 episodes in 0 s")


def test_what_is_being_done_comes_first_until_the_next_update():
    clock, stream = Clock(), io.StringIO()
    with Progress(100, "x", stream=stream, clock=clock) as progress:
        clock.now += 10
        progress.at(0, "episode 3 of 9")
        clock.now += 10
        progress.update(100, {"loss": 2.0})
    assert stream.getvalue().splitlines() == [
        "x: 0/100 steps, episode 3 of 9",
        "x: 100/100 steps, 5 steps/s, 0 s left, loss 2",
    ]


def test_a_resumed_run_counts_its_own_steps_only_and_says_where_nothing_is_left():
    lines = said(1050, *steps(1001, 1050, per_second=10), start=1000).splitlines()
    assert lines[-1].startswith("x: 1050/1050 steps in 5 s, 10 steps/s")
    assert said(30, start=50) == "x: nothing left to do, 50 of 30 steps were done before\n"
    stream = Terminal()
    with Progress(30, "x", start=30, stream=stream):
        pass
    assert "nothing left to do, 30 of 30 steps" in stream.getvalue()


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


@pytest.mark.parametrize(
    ("total", "updates", "line"),
    [
        (6, [(3, {}, 15)], "0.2 steps/s"),
        (10, [(0, {}, 10), (0, {}, 10)], "x: 0/10 steps\nx: 0/10 steps\n"),
        (4, [(1, {"loss": 1.0, "q": 5.0}, 0), (2, {"loss": 2.0}, 20)], "loss 2, q 5"),
        (100_000, [(10, {}, 10), (20, {}, 10)], "27 h 46 min left"),
        (100_000, [(1, {}, 10)], "x: 1/100000 steps\n"),
        (
            4,
            [(1, {"updates": 3}, 0), (2, {"loss": 0.25, "updates": 123456}, 0)],
            "loss 0.25, updates 123,456",
        ),
        (4, [(1, dict.fromkeys("abcdefgh", 1.0), 0)], "a 1, b 1, c 1, d 1, e 1\n"),
        (
            4,
            [(1, {**dict.fromkeys("abcdefgh", 1.0), "mean_return": 7.0}, 0)],
            "mean_return 7, a 1, b 1, c 1, d 1\n",
        ),
    ],
)
def test_numbers_are_said_in_order_and_readably(total, updates, line):
    assert line in said(total, *updates)
    assert Progress(4, "x", stream=io.StringIO(), clock=Clock()).steps_per_second() == 0.0


@pytest.mark.parametrize(
    ("stream", "name", "value"), [(io.StringIO, "FORCE_COLOR", "1"), (Terminal, "TERM", "dumb")]
)
def test_what_can_show_no_bar_gets_plain_lines(monkeypatch, stream, name, value):
    monkeypatch.setenv(name, value)
    with Progress(10, "x", stream=(found := stream()), clock=Clock()) as progress:
        progress.update(10)
    assert found.getvalue() == "x: 10/10 steps in 0 s\n"


def test_a_terminal_gets_a_bar_and_a_narrow_one_cuts_off_the_text_alone(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    stream = Terminal()
    with Progress(2048, "ppo2", stream=stream) as progress:
        progress.update(
            2048, {"mean_return": 435.7, "explained_variance": 0.34, "policy_loss": 0.1}
        )
    last = next(line for line in stream.getvalue().split("\r")[::-1] if "ppo2" in line)
    assert "━" in last and "2048/2048" in last and "mean_return 435.7" in last
