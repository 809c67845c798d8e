"""What a row says of a run's files, whatever state they are in."""

import errno
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from retro_agents.ground.errors import UserError
from retro_agents.run.folder import alone_in
from retro_agents.studio import (
    agents,
    app,
    files,
    index,
    judged,
    row,
    starting,
    threads,
    writers,
)
from retro_agents.studio.files import Table
from retro_agents.studio.row import Row, described, history, mark_of
from tests.runs import ROOT
from tests.studio.runs import RECORDED, make_contest, make_jerk, make_run, make_sweep, write


def test_a_row_says_where_a_run_stands(tmp_path: Path) -> None:
    row = described(make_run(tmp_path / "one", steps=4_000, timesteps=5_000), "one", 0)
    assert (row.state, row.agent, row.steps, row.timesteps) == ("stopped", "ppo2", 4_000, 5_000)
    assert row.mean == pytest.approx(1_200)  # of 40 episodes
    assert row.random is not None and row.oracle is not None and row.random < row.oracle
    assert described(tmp_path / "one", "one", 1).speed == pytest.approx(100)


def foreign(run: Path, *, version: int | None = 99) -> None:
    checkpoint = run / "checkpoints" / "step-4000"
    checkpoint.mkdir(parents=True)
    meta = {"format": "retro-contest-agents checkpoint"} | ({"version": version} if version else {})
    write(checkpoint / "meta.json", meta)


def configured(run: Path, **config: Any) -> None:
    write(run / "config.json", {"run": {"timesteps": 9, **config}})


def piped(run: Path) -> None:
    (run / "config.json").unlink()
    os.mkfifo(run / "config.json")


def linked(run: Path) -> None:
    (run / "episodes.csv").unlink()
    (run / "episodes.csv").symlink_to("/etc/passwd")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda run: (run / "config.json").write_text("{"), "config.json is damaged"),
        (lambda run: (run / "config.json").write_text("[" * 10**5), "config.json is damaged"),
        (lambda run: (run / "config.json").write_text("3"), "config.json is damaged"),
        (lambda run: (run / "config.json").write_text("{}"), "not a run's"),
        (lambda run: (run / "provenance.json").write_text("{}"), "provenance.json is damaged"),
        (piped, "config.json cannot be read: config.json is not a regular file"),
        (linked, "symbolic links"),
        (foreign, "format version 99"),
        (partial(foreign, version=None), "format version None"),
        (partial(configured, timesteps=1e999), "infinity"),
        (lambda run: (run / "metrics.csv").write_text("step\ninf\n"), "infinity"),
        (lambda run: (run / "metrics.csv").write_text(f"{'x' * 140_000}\n1\n"), "first line"),
    ],
)
def test_a_damaged_run_says_so_in_one_line(tmp_path: Path, harm: Any, said: str) -> None:
    run = make_run(tmp_path / "one")
    harm(run)
    error = described(run, "one", 0).error
    assert said in error and "\n" not in error


@pytest.mark.parametrize("cut", range(0, 300, 17))
def test_a_half_written_run_has_a_row(tmp_path: Path, cut: int) -> None:
    run = make_run(tmp_path / "one")
    for name in ("metrics.csv", "episodes.csv", "timing.csv"):
        (run / name).write_bytes((run / name).read_bytes()[:cut])
    assert described(run, "one", 0).error == ""


def test_a_table_is_read_on_and_anew_if_it_was_written_anew(tmp_path: Path) -> None:
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


def test_a_table_without_line_breaks_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PART", 64)
    table = Table(make_run(tmp_path / "one") / "metrics.csv")
    assert table.read().rows == 40  # of which each part has a few
    with table.path.open("a") as file:
        file.write("1" * 64)
    with pytest.raises(UserError, match="damaged"):
        table.read()


WRITER = """
import sys, time
from pathlib import Path
from retro_agents.run.folder import alone_in, interruptible
run = Path(sys.argv[1])
with alone_in(run), interruptible(run) as stopped:
    print("begun", flush=True)
    while not stopped():
        time.sleep(0.01)
    (run / "saved").touch()
"""


def test_a_running_run_is_stopped_and_saves(studio: Any, tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs" / "one", timesteps=9_000)
    client = studio(run.parent)
    command = [sys.executable, "-c", WRITER, str(run)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as it:
        assert it.stdout is not None and it.stdout.readline()
        assert client.rows(lambda rows: rows["one"]["state"] == "running")["one"]["speed"] == 100
        assert client.ask("/api/stop", {"run": "one"})[0] == 200
        it.wait(30)
    assert (run / "saved").exists()
    assert client.rows(lambda rows: rows["one"]["state"] == "stopped")["one"]["error"] == ""
    assert client.ask("/api/stop", {"run": "one"})[0] == 400


def test_a_second_stop_at_the_same_moment_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(tmp_path / "one")
    both, stopped = threading.Barrier(2), list[Path]()
    monkeypatch.setattr(app, "writer_of", lambda folder, known: both.wait(60) and 0)
    monkeypatch.setattr(app, "stop", stopped.append)
    found = app.Studio(tmp_path, tmp_path)
    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(found.stop_once, "one") for _ in range(2)]
    assert sorted(one.exception() is None for one in asked) == [False, True]
    assert stopped == [tmp_path / "one"]


def test_a_stop_that_failed_may_be_asked_for_again(tmp_path: Path) -> None:
    make_run(tmp_path / "one")
    for _ in range(2):
        with pytest.raises(UserError, match="no process writes"):
            app.Studio(tmp_path, tmp_path).stop_once("one")


def test_a_look_that_fails_is_made_again(
    studio: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(tmp_path / "runs" / "one")
    fails = iter([True])

    def mark(run: Path, pid: int) -> Any:
        if next(fails, False):
            raise RuntimeError
        return mark_of(run, pid)

    monkeypatch.setattr(index, "mark_of", mark)
    assert [*studio(tmp_path / "runs").rows(len)] == ["one"]


def test_a_run_is_whole_again_once_its_disk_is(
    studio: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(tmp_path / "runs" / "one")
    fails = iter([True])

    def once(run: Path) -> Any:
        if next(fails, False):
            raise OSError(errno.EIO, "Input/output error")
        return history(run)

    monkeypatch.setattr(row, "history", once)
    rows = studio(tmp_path / "runs").rows(lambda rows: rows and rows["one"]["error"] == "")
    assert rows["one"]["state"] == "finished"


def forbidden(path: str) -> Any:
    raise PermissionError(errno.EACCES, "Permission denied", path)


@pytest.mark.parametrize("held", [True, False])
def test_a_writer_of_another_user_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: bool
) -> None:
    run = make_run(tmp_path / "one")
    known = {run.stat().st_ino: [0]}
    monkeypatch.setattr(writers, "locks", lambda: known)
    monkeypatch.setattr(os, "scandir", forbidden)
    with alone_in(run) if held else nullcontext():
        assert writers.writer_of(run, known) == (writers.UNKNOWN if held else 0)
        with pytest.raises(UserError, match="does not say which" if held else "no process"):
            writers.stop(run)


def test_strange_names_and_links_harm_nothing(studio: Any, tmp_path: Path) -> None:
    root, strange = tmp_path / os.fsdecode(b"\xfe"), os.fsdecode(b"<b>\xff\n</b>")
    run = make_run(root / strange, levels="\ud800", rate=float("inf"))
    write(run / "provenance.json", [{"agent": "\udfff"}])
    make_sweep(root / strange / "sweep")
    (root / "loop").symlink_to(root)
    client, shown = studio(root), "<b>�\n</b>"
    assert shown in client.rows(lambda rows: len(rows) == 5)
    for what in ("runs", "agents", "sweeps", "run", "configs", "episodes", "curves", "columns"):
        assert client.ask(f"/api/{what}", query={"run": shown})[0] == 200, what


def test_a_run_that_began_while_nobody_looked_is_found_at_once(
    studio: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = studio(tmp_path / "runs")
    make_run(tmp_path / "runs" / "first")
    client.rows(len)
    monkeypatch.setattr(index, "EVERY", 0.0)  # as if it were long ago
    monkeypatch.setattr(index, "LONGEST", 0.0)
    make_run(tmp_path / "runs" / "second")
    assert client.ask("/api/run", query={"run": "second"})[0] == 200


def test_a_disk_that_does_not_answer_holds_up_its_own_run_alone(
    studio: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, answers = tmp_path / "runs", threading.Event()
    for name in ("other", "a-slow"):
        make_run(root / name)

    def slowly(run: Path, name: str, pid: int) -> Row:
        return described(run, name, pid) if name == "other" or answers.wait(60) else Row("")

    monkeypatch.setattr(index, "described", slowly)
    monkeypatch.setattr(index, "PATIENCE", 0.05)
    client = studio(root)
    rows = client.rows(lambda rows: len(rows) == 2)
    assert rows["a-slow"]["error"].startswith("its disk has not answered for")
    assert (rows["other"]["error"], rows["other"]["steps"]) == ("", 4_000)
    answers.set()
    rows = client.rows(lambda rows: rows["a-slow"]["error"] == "")
    assert rows["a-slow"]["steps"] == 4_000


def test_runs_on_one_slow_disk_are_noticed_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    for name in range(4):
        make_run(tmp_path / f"{name}")
    monkeypatch.setattr(index, "described", lambda *_: answers.wait(60) and Row(""))
    monkeypatch.setattr(index, "PATIENCE", 1.0)
    seen = index.Index(tmp_path)
    while not (rows := [row for row in seen.ask() if row.error]):
        pass
    answers.set()
    assert len(rows) > 1


def test_a_folder_that_cannot_be_listed_holds_up_no_other(
    studio: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, answers = tmp_path / "runs", threading.Event()
    make_run(root / "a-slow" / "one"), make_run(root / "other")
    client = studio(root)
    client.rows(lambda rows: len(rows) == 2)

    def slowly(path: Path) -> Any:
        assert path.name != "a-slow" or answers.wait(60)
        return os.scandir(path)

    monkeypatch.setattr(index, "scandir", slowly)
    monkeypatch.setattr(index, "PATIENCE", 0.05)
    rows = client.rows(lambda rows: len(rows) == 3)
    assert rows["a-slow"]["error"].startswith("its disk has not answered for")
    assert [rows[name]["error"] for name in ("a-slow/one", "other")] == ["", ""]
    status, found = client.ask("/api/run", query={"run": "a-slow/one"})
    assert (status, found["error"]) == (400, "the disk of a-slow/one does not answer")
    assert client.ask("/api/run", query={"run": "other"})[0] == 200
    make_run(root / "later")
    assert "later" in client.rows(lambda rows: "later" in rows)
    answers.set()
    assert "a-slow" not in client.rows(lambda rows: "a-slow" not in rows)


@pytest.mark.parametrize(
    ("what", "body", "module", "name"),
    [
        ("episodes", None, app, "recordings"),
        ("player", None, agents, "checkpoints_of"),
        ("compare", {"entries": [{"runs": ["one"]}] * 2}, judged, "check_file"),
        ("stop", {"run": "one"}, app, "history"),
        ("command", {"type": "run", "agent": "jerk", "name": "new"}, starting, "free"),
    ],
)
def test_requests_that_wait_for_a_disk_leave_room_for_others(
    studio: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    body: Any,
    module: Any,
    name: str,
) -> None:
    make_run(tmp_path / "runs" / "one")
    client, answers = studio(tmp_path / "runs"), threading.Event()
    client.rows(len)
    monkeypatch.setattr(module, name, lambda *_: answers.wait(60) and ())
    monkeypatch.setattr(threads, "PATIENCE", 0.05)
    ask = partial(client.ask, f"/api/{what}", body, query={"run": "one", "agent": "one@9"})
    with ThreadPoolExecutor(50) as pool:
        waiting = [pool.submit(ask) for _ in range(50)]
        while sum(one.done() for one in waiting) < 50 - threads.MOST_AT_ONCE:
            pass
        assert client.ask("/api/columns", query={"run": "one"})[0] == 200
        answers.set()


WRITES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.utime", "os.truncate"}


def test_nothing_is_written_into_the_runs(studio: Any, tmp_path: Path) -> None:
    root, written, listens = tmp_path / "runs", list[Any](), True
    make_jerk(root / "jerk"), make_sweep(root / "sweep"), make_contest(root / "contest")

    def hears(event: str, given: tuple[Any, ...]) -> None:
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
