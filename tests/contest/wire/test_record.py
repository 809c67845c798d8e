import itertools
import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

import pytest

from retro_agents.contest.wire import record as record_module
from retro_agents.contest.wire.record import Record, run_facts
from retro_agents.games.retro.levels import parse_levels
from retro_agents.ground.errors import UserError


def result(folder):
    return json.loads((folder / "result.json").read_text())


def episode(record, *rewards, terminated=True):
    record.reset()
    for reward in rewards[:-1]:
        record.step(reward, terminated=False, truncated=False)
    record.step(rewards[-1], terminated=terminated, truncated=not terminated)


def test_score_is_the_mean_of_all_episodes_the_unfinished_one_too(tmp_path):
    record = Record(tmp_path, facts={"level": "toy"})
    episode(record, 1.0, 2.0)
    episode(record, -4.0)
    record.reset()
    record.step(10.0, terminated=False, truncated=False)
    record.finish("limit")
    rows = [row.split(",")[:2] for row in (tmp_path / "monitor.csv").read_text().splitlines()]
    assert rows == [["r", "l"], ["3.0", "2"], ["-4.0", "1"], ["10.0", "1"]]
    found = result(tmp_path)
    assert found["mean_return"] == 3.0
    assert (found["best_return"], found["episodes"], found["steps"]) == (10.0, 3, 4)
    assert (found["level"], found["ended"]) == ("toy", "limit")


def test_episode_is_in_both_files_as_soon_as_it_ends_with_the_runs_facts(tmp_path, monkeypatch):
    monkeypatch.setattr(record_module, "PACKAGES", (*record_module.PACKAGES, "no-such-package"))
    record = Record(tmp_path, facts={})
    assert result(tmp_path)["mean_return"] is None
    episode(record, 5.0)
    assert len((tmp_path / "monitor.csv").read_text().splitlines()) == 2
    assert (result(tmp_path)["mean_return"], result(tmp_path)["ended"]) == (5.0, None)
    record.finish("")
    level = parse_levels("bramble-test")[0]
    facts = run_facts(level, seed=3, backend="native")
    rom = Path("cartridge/integration") / level.game / "rom.sha"
    assert facts["rom_sha1"] == rom.read_text().split()[0]
    assert (facts["level"], facts["seed"]) == (str(level), 3)
    assert {"python", "stable-retro"} <= set(facts["versions"])
    assert facts["versions"]["no-such-package"] == "not installed"


class Interrupted(BaseException):
    """A signal's exception."""


SIGNALS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])


def interrupted_at(line, work, number):
    """Run `work`, with a signal after `line` lines of record.py -> whether the signal came."""
    left = line

    def interrupt(*_):
        raise Interrupted

    def trace(frame, event, _):
        nonlocal left
        if frame.f_code.co_filename != record_module.__file__:
            return None
        left -= event == "line"
        if left == -1 and event == "line":
            signal.raise_signal(number)
        return trace

    before, handler = sys.gettrace(), signal.signal(number, interrupt)
    sys.settrace(trace)
    try:
        work()
    except Interrupted:
        return True
    finally:
        sys.settrace(before)
        signal.signal(number, handler)
    return False


def two_steps(folder):
    record = Record(folder, facts={"level": "toy"})
    record.reset()
    record.step(1.0, terminated=False, truncated=False)
    record.step(2.0, terminated=False, truncated=False)
    return record


@SIGNALS
def test_interruption_at_any_line_of_an_episodes_end_keeps_it_whole(tmp_path, number):
    found = []
    interrupted = True
    while interrupted:
        folder = tmp_path / str(len(found))
        record = two_steps(folder)
        end = partial(record.step, 4.0, terminated=True, truncated=False)
        interrupted = interrupted_at(len(found), end, number)
        record.finish("stopped")
        found.append(only_episode(folder))
    before, after = ("3.0", "2", "0"), ("7.0", "3", "1")
    assert set(found) == {before, after}
    assert found.count(before) == 1 and found.count(after) > 20, "lines that write it down"


@SIGNALS
def test_interruption_at_any_line_of_the_runs_end_is_made_good(tmp_path, number):
    lines = 0
    interrupted = True
    while interrupted:
        folder = tmp_path / str(lines)
        record = two_steps(folder)
        interrupted = interrupted_at(lines, partial(record.finish, "limit"), number)
        record.finish("stopped")
        assert only_episode(folder) == ("3.0", "2", "0")
        assert (result(folder)["ended"] == "limit") == (lines > 0)
        lines += 1
    assert lines > 20


def only_episode(folder):
    """Return, steps and completeness of the only one, all files agreeing."""
    r, steps, _ = one_row(folder / "monitor.csv")
    row = one_row(folder / "episodes.csv")
    assert (row[0], row[2], row[3]) == (steps, r, steps)
    found = result(folder)
    assert (found["mean_return"], found["steps"], found["episodes"]) == (float(r), int(steps), 1)
    return r, steps, row[-1]


def one_row(path):
    """The cells of a table's only row."""
    _, row = path.read_text().splitlines()
    return row.split(",")


def test_what_a_full_disk_refused_is_written_when_there_is_room(tmp_path, monkeypatch):
    record = Record(tmp_path, facts={})
    calls = itertools.count()

    def full(file, data):
        if next(calls) == 1:
            raise OSError(28, "No space left on device")
        return write(file, data[:5])

    write = os.write
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        episode(record, 5.0)
    record.finish("server stopped")
    assert one_row(tmp_path / "monitor.csv")[:2] == ["5.0", "1"]
    assert one_row(tmp_path / "episodes.csv")[2:4] == ["5.0", "1"]


def test_log_and_result_have_the_running_episode_every_thousand_steps(tmp_path):
    record = Record(tmp_path, facts={})
    record.reset()
    for step in range(2500):
        record.step(0.5, terminated=False, truncated=False)
        if step == 999:
            assert (result(tmp_path)["mean_return"], result(tmp_path)["steps"]) == (500.0, 1000)
            assert len((tmp_path / "monitor.csv").read_text().splitlines()) == 1
    record.finish("")
    lines = (tmp_path / "log.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["l", "1000", "2000"]


def test_finished_means_that_the_level_was_ended_by_reaching_its_end(tmp_path):
    record = Record(tmp_path, facts={})
    episode(record, 9000.0 - 0.5, 500.0)
    episode(record, 9000.0 - 1e-3)
    episode(record, 8000.0)
    episode(record, 9500.0, terminated=False)
    record.finish("")
    assert result(tmp_path)["finished"] == 2
    with pytest.raises(UserError, match="not overwritten"):
        Record(tmp_path, facts={})
