"""What a row says of a run's files, whatever state they are in."""

import errno
import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from itertools import count
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.requests import Request

from retro_agents.ground.errors import UserError
from retro_agents.studio import app, files, index, row
from retro_agents.studio.files import TABLES, Table
from retro_agents.studio.row import described, history, mark_of
from tests.studio.runs import (
    LEVELS,
    RECORDED,
    linked,
    make_contest,
    make_jerk,
    make_run,
    make_sweep,
    piped,
    table,
    write,
)


def test_a_row_says_where_a_run_stands(tmp_path):
    row = described(make_run(tmp_path / "one", steps=4_000, timesteps=5_000), "one", 0)
    assert (row.state, row.agent, row.steps, row.timesteps) == ("stopped", "ppo2", 4_000, 5_000)
    assert row.mean == pytest.approx(1_200)  # of 40 episodes
    assert row.random < row.oracle
    assert described(tmp_path / "one", "one", 1).speed == pytest.approx(100)
    ends = [f"{s},0,{LEVELS[0]},{3 * (s > 50)},9,0.5,0" for s in range(1, 151)]
    table(tmp_path / "one/episodes.csv", "step,env,level,r,l,progress,finished", ends)
    assert described(tmp_path / "one", "one", 0).mean == 3  # of the newest hundred
    starts = history(tmp_path / "one")
    write(tmp_path / "one/provenance.json", [*starts, {"agent": "ppo2"}])  # which did not end
    assert described(tmp_path / "one", "one", 0).state == "killed"


def test_a_clones_updates_are_its_steps(tmp_path):
    run = make_run(tmp_path / "one", steps=4_000)
    write(run / "config.json", {"updates": 4_000})
    row = described(run, "one", 0)
    assert (row.state, row.timesteps, row.error) == ("finished", 4_000, "")


def foreign(run, *, version=99):
    checkpoint = run / "checkpoints" / "step-4000"
    checkpoint.mkdir(parents=True)
    meta = {"format": "retro-contest-agents checkpoint"} | ({"version": version} if version else {})
    write(checkpoint / "meta.json", meta)


@pytest.mark.parametrize(
    ("name", "harm", "said"),
    [
        ("config.json", "{", "config.json is damaged"),
        ("config.json", "[" * 10**5, "config.json is damaged"),
        ("config.json", "3", "config.json is damaged"),
        ("config.json", "{}", "not a run's"),
        ("config.json", '{"run": {"timesteps": Infinity}}', "infinity"),
        ("config.json", piped, "config.json cannot be read: config.json is not a regular file"),
        ("provenance.json", "{}", "provenance.json is damaged"),
        ("episodes.csv", linked, "symbolic links"),
        ("metrics.csv", "step\ninf\n", "infinity"),
        ("metrics.csv", "step\nx\n", "its rows do not fit its header"),
        ("timing.csv", "step,seconds\n\x01\x02\n", "its rows do not fit its header"),
        *((f"{table}.csv", "\x9c\x01\n\xff,3", "its first column is not step") for table in TABLES),
        ("metrics.csv", "\x9c\x01", "its first column is not step"),
        ("metrics.csv", f"{'x' * 140_000}\n1\n", "first line"),
        ("", foreign, "format version 99"),
        ("", partial(foreign, version=None), "format version None"),
    ],
)
def test_a_damaged_run_says_so_in_one_line(tmp_path, name, harm, said):
    run = make_run(tmp_path / "one")
    (run / name).write_text(harm) if isinstance(harm, str) else harm(run / name)
    row = described(run, "one", 0)
    assert said in row.error and "\n" not in row.error
    assert row.state == ("damaged" if name else "finished")


@pytest.mark.parametrize("cut", range(0, 300, 17))
def test_a_half_written_run_has_a_row(tmp_path, cut):
    run = make_run(tmp_path / "one")
    for name in ("metrics.csv", "episodes.csv", "timing.csv"):
        (run / name).write_bytes((run / name).read_bytes()[:cut])
    assert described(run, "one", 0).error == ""


def test_a_table_is_read_on_and_anew_if_it_was_written_anew(tmp_path):
    path = make_run(tmp_path / "one", rows=3, steps=300) / "metrics.csv"
    table = Table(path)
    assert table.read().column("step").tolist() == [100, 200, 300]
    with path.open("a") as file:
        file.write("400,1.5,\n50")  # a row, and a half
    assert table.read().column("step").tolist() == [100, 200, 300, 400]
    draft = path.with_name("draft")
    draft.write_text("step,loss,entropy,new\n100,1,2,3\n")
    draft.replace(path)
    assert table.read().column("new").tolist() == [3]
    path.write_text("step,loss,entropy,new\n200,1,2,5\n300,1,2,6\n")  # in the same file
    assert table.read().column("new").tolist() == [5, 6]


def test_a_table_without_line_breaks_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PART", 64)
    table = Table(make_run(tmp_path / "one") / "metrics.csv")
    assert table.read().rows == 40  # of which each part has a few
    with table.path.open("a") as file:
        file.write("1" * 64)
    with pytest.raises(UserError, match="damaged"):
        table.read()


def test_a_look_that_fails_is_made_again(studio, tmp_path, monkeypatch):
    make_run(tmp_path / "runs" / "one")
    fails = iter([True])

    def mark(run, pid):
        if next(fails, False):
            raise RuntimeError
        return mark_of(run, pid)

    monkeypatch.setattr(index, "mark_of", mark)
    assert [*studio(tmp_path / "runs").rows(len)] == ["one"]


def test_a_run_is_whole_again_once_its_disk_is(studio, tmp_path, monkeypatch):
    make_run(tmp_path / "runs" / "one")
    fails = iter([True])

    def once(run):
        if next(fails, False):
            raise OSError(errno.EIO, "Input/output error")
        return history(run)

    monkeypatch.setattr(row, "history", once)
    rows = studio(tmp_path / "runs").rows(lambda rows: rows and rows["one"]["error"] == "")
    assert rows["one"]["state"] == "finished"


def test_strange_names_and_links_harm_nothing(studio, tmp_path):
    root, strange = tmp_path / os.fsdecode(b"\xfe"), os.fsdecode(b"<b>\xff\n</b>")
    run = make_run(root / strange, levels="\ud800", rate=float("inf"))
    write(run / "provenance.json", [{"agent": "\udfff"}])
    make_sweep(root / strange / "sweep")
    (root / "loop").symlink_to(root)
    client, shown = studio(root), "<b>�\n</b>"
    assert shown in client.rows(lambda rows: len(rows) == 5)
    for what in ("runs", "agents", "sweeps", "run", "configs", "episodes", "curves", "columns"):
        assert client.ask(f"/api/{what}", query={"run": shown})[0] == 200, what


def test_a_run_that_began_while_nobody_looked_is_found_at_once(studio, tmp_path, monkeypatch):
    client = studio(tmp_path / "runs")
    make_run(tmp_path / "runs" / "first")
    client.rows(len)
    monkeypatch.setattr(index, "EVERY", 0.0)  # as if it were long ago
    monkeypatch.setattr(index, "LONGEST", 0.0)
    make_run(tmp_path / "runs" / "second")
    assert client.ask("/api/run", query={"run": "second"})[0] == 200


def test_all_who_ask_first_wait_for_a_look_and_nobody_who_asks_again(tmp_path, monkeypatch):
    make_run(tmp_path / "one")
    go_on, ticks, late = threading.Event(), count(), [0.0]
    clock = SimpleNamespace(monotonic=lambda: late[0] + next(ticks) / 1_000)
    clock.sleep, clock.thread_time = (lambda _: None), (lambda: 0.0)
    monkeypatch.setattr(index, "time", clock)
    monkeypatch.setattr(index, "PATIENCE", 30.0)
    monkeypatch.setattr(index, "mark_of", lambda *given: go_on.wait(60) and mark_of(*given))
    seen = index.Index(tmp_path)
    with ThreadPoolExecutor(2) as threads:
        first = [threads.submit(seen.ask) for _ in range(2)]
        wait(first, 0.1)  # for one that would not wait
        go_on.set()
        assert [len(one.result()) for one in first] == [1, 1]
        go_on.clear()
        for _ in range(4):  # the next look takes longer than the longest rest
            late[0] += 5.0
            assert len(threads.submit(seen.ask).result(10)) == 1
        go_on.set()


def test_what_changes_during_an_answer_is_not_taken_for_seen(tmp_path, monkeypatch):
    found = app.Studio(tmp_path, tmp_path)
    before = found.index.revision

    def changing():
        found.index.revision += 1
        return []

    monkeypatch.setattr(found.index, "ask", changing)
    answer: Any = found.runs(Request({"type": "http", "query_string": b""}))
    version = json.loads(answer.body)["version"]
    assert version.split(" ", 1)[1] == f"{before} 0 "
    query = urlencode({"since": version}).encode()  # of a page that is older than this studio
    other = app.Studio(tmp_path, tmp_path).runs(Request({"type": "http", "query_string": query}))
    assert other.status_code == 200


WRITES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.utime", "os.truncate"}


def test_nothing_is_written_into_the_runs(studio, tmp_path):
    root, written, listens = tmp_path / "runs", list[Any](), True
    make_jerk(root / "jerk"), make_sweep(root / "sweep"), make_contest(root / "contest")

    def hears(event, given):
        if not listens or not given or not str(given[0]).startswith(f"{root}"):
            return
        if event in WRITES or (event == "open" and given[2] & (os.O_WRONLY | os.O_RDWR)):
            written.append((event, given))

    everything = [root, *root.rglob("*")]
    for path in everything:  # which says more where the user is not root
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = {path: path.stat().st_ctime_ns for path in everything}
    sys.addaudithook(hears)  # for good
    client = studio(root)
    assert {row["error"] for row in client.rows(len).values()} == {""}
    whats = ["columns", "curves", "run", "configs", "episodes", "file", "contests", "sweeps"]
    query = {"run": "jerk", "column": "metrics/loss", "file": RECORDED}
    for what in [*whats, "agents", "player", "report"]:
        asked = {**query, "agent": "jerk@step-000000000", "contest": "contest"}
        assert client.ask(f"/api/{what}", query=asked)[0] == 200, what
    listens = False
    after = {path: path.stat().st_ctime_ns for path in [root, *root.rglob("*")]}
    assert (after, written) == (before, [])
