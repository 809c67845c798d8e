"""A disk that does not answer holds up its own runs alone."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from retro_agents.studio import agents, app, index, judged, starting, threads
from retro_agents.studio.__main__ import HERE
from retro_agents.studio.row import Row, described
from tests.runs import ROOT
from tests.studio.runs import make_run


def test_a_disk_that_does_not_answer_holds_up_its_own_run_alone(studio, tmp_path, monkeypatch):
    root, answers = tmp_path / "runs", threading.Event()
    for name in ("other", "a-slow"):
        make_run(root / name)

    def slowly(run, name, pid):
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


def test_runs_on_one_slow_disk_are_noticed_together(tmp_path, monkeypatch):
    answers = threading.Event()
    for name in range(4):
        make_run(tmp_path / f"{name}")
    monkeypatch.setattr(index, "described", lambda *_: answers.wait(60) and Row(""))
    monkeypatch.setattr(index, "PATIENCE", 1.0)
    seen = index.Index(tmp_path)
    while not (rows := [row for row in seen.ask() if row.error]):
        time.sleep(0.02)
    answers.set()
    assert len(rows) > 1


def test_a_folder_that_cannot_be_listed_holds_up_no_other(studio, tmp_path, monkeypatch):
    root, answers = tmp_path / "runs", threading.Event()
    make_run(root / "a-slow" / "one"), make_run(root / "other")
    client = studio(root)
    client.rows(lambda rows: len(rows) == 2)

    def slowly(path):
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
        ("episodes", None, app, "newest_files"),
        ("player", None, agents, "checkpoints_of"),
        ("compare", {"entries": [{"runs": ["one"]}] * 2}, judged, "check_file"),
        ("stop", {"run": "one"}, app, "history"),
        ("command", {"type": "run", "agent": "jerk", "name": "new"}, starting, "free"),
    ],
)
def test_requests_that_wait_for_a_disk_leave_room_for_others(
    studio, tmp_path, monkeypatch, what, body, module, name
):
    make_run(tmp_path / "runs" / "one")
    client, answers = studio(tmp_path / "runs"), threading.Event()
    client.rows(len)
    monkeypatch.setattr(module, name, lambda *_: answers.wait(60) and ())
    monkeypatch.setattr(threads, "PATIENCE", 0.05)
    ask = partial(client.ask, f"/api/{what}", body, query={"run": "one", "agent": "one@9"})
    with ThreadPoolExecutor(50) as pool:
        waiting = [pool.submit(ask) for _ in range(50)]
        while sum(one.done() for one in waiting) < 50 - threads.MOST_AT_ONCE:
            time.sleep(0.02)
        assert client.ask("/api/columns", query={"run": "one"})[0] == 200
        answers.set()


STUDIO = """
import sys, time
from retro_agents.studio import __main__ as studio, app
app.PAGE = studio.Path(sys.argv.pop())
app.newest_files = lambda _: print("asked", flush=True) or time.sleep(60) or ()
studio.main()
"""


def test_ctrl_c_ends_the_studio_while_a_disk_does_not_answer(tmp_path):
    (tmp_path / "studio.html").touch()
    make_run(tmp_path / "one")
    words = [str(tmp_path), "--port", "0", "--no-browser", str(tmp_path)]
    with subprocess.Popen(
        [sys.executable, "-c", STUDIO, *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as it:
        port, token = re.findall(r":(\d+)/\?token=(\S+)", it.stdout.readline())[0]
        with socket.create_connection((HERE, int(port))) as page:
            asked = f"GET /api/episodes?run=one HTTP/1.1\r\nHost: {HERE}:{port}\r\n"
            page.sendall(f"{asked}Cookie: studio-{port}={token}\r\n\r\n".encode())
            assert "asked\n" in it.stdout
            it.send_signal(signal.SIGINT)
            _, error = it.communicate(timeout=50)
    assert it.returncode == 130 and "interrupted\n" in error and "Traceback" not in error
