"""Who writes to a run, and how it is stopped."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest

from retro_agents.ground.errors import UserError
from retro_agents.run.folder import alone_in
from retro_agents.studio import app, writers
from tests.runs import ROOT
from tests.studio.runs import make_run

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


def test_a_running_run_is_stopped_and_saves(studio, tmp_path):
    run = make_run(tmp_path / "runs" / "one", timesteps=9_000)
    client = studio(run.parent)
    command = [sys.executable, "-c", WRITER, str(run)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as it:
        assert it.stdout.readline()
        assert client.rows(lambda rows: rows["one"]["state"] == "running")["one"]["speed"] == 100
        assert client.ask("/api/stop", {"run": "one"})[0] == 200
        it.wait(30)
    assert (run / "saved").exists()
    assert client.rows(lambda rows: rows["one"]["state"] == "stopped")["one"]["error"] == ""
    assert client.ask("/api/stop", {"run": "one"})[0] == 400


def test_a_lock_that_hangs_holds_up_no_other_thread(tmp_path, monkeypatch):
    hangs, begun, go_on, real = tmp_path / "hangs", threading.Event(), threading.Event(), os.open
    for folder in (hangs, tmp_path / "other"):
        folder.mkdir()

    def opened(path, *given):
        if path == hangs:
            begun.set()
            go_on.wait(60)
        return real(path, *given)

    monkeypatch.setattr(os, "open", opened)
    with ThreadPoolExecutor(2) as threads:
        late = threads.submit(writers.is_locked, hangs)
        begun.wait(60)
        try:
            assert not threads.submit(writers.is_locked, tmp_path / "other").result(5)
        finally:
            go_on.set()
        assert not late.result()


def test_a_second_stop_at_the_same_moment_changes_nothing(tmp_path, monkeypatch):
    make_run(tmp_path / "one")
    both, stopped = threading.Barrier(2), list[Path]()
    monkeypatch.setattr(app, "writer_of", lambda folder, known: both.wait(60) and 0)
    monkeypatch.setattr(app, "stop", stopped.append)
    found = app.Studio(tmp_path, tmp_path)
    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(found.stop, app.Named("one")) for _ in range(2)]
    assert [one.exception() for one in asked] == [None, None]
    assert stopped == [tmp_path / "one"]


def test_a_stop_that_failed_may_be_asked_for_again(tmp_path):
    make_run(tmp_path / "one")
    for _ in range(2):
        with pytest.raises(UserError, match="no process of this machine"):
            app.Studio(tmp_path, tmp_path).stop(app.Named("one"))


@pytest.mark.parametrize("contained", [True, False])
@pytest.mark.parametrize("held", [True, False])
def test_a_writer_outside_the_container_or_of_another_user_is_not_known(
    tmp_path, monkeypatch, held, contained
):
    run = make_run(tmp_path / "one")
    known = {} if contained else {run.stat().st_ino: [0]}
    monkeypatch.setattr(writers, "sees_all", lambda: not contained)
    monkeypatch.setattr(writers, "locks", lambda: known)
    monkeypatch.setattr(os, "scandir", Mock(side_effect=PermissionError))
    with alone_in(run) if held else nullcontext():
        assert writers.writer_of(run, known) == (writers.UNKNOWN if held else 0)
        with pytest.raises(UserError, match="does not say which" if held else "no process"):
            writers.stop(run)
