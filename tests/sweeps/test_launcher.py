"""Cells wait for one another, continue where they stopped, and refuse what was made otherwise."""

import _thread
import json
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress

import numpy as np
import pytest

from retro_agents.ground import processes
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import wait_for_lock
from retro_agents.ground.processes import ended
from retro_agents.run import folder as run_folder
from retro_agents.sweeps.launcher import last_rows, left, measured, record_of, work
from tests.sweeps.studies import calls, changed

ACTS = ("RustCavern.Act2", "SkyIsles.Act2")


def names(study, out, *kinds):
    """The names of the cells that are left."""
    return [cell.name for cell in left(study, kinds or list(study.kinds), out)]


def run(study, out, *kinds):
    """Play what is left -> what was said."""
    said = []
    work(study, left(study, kinds or list(study.kinds), out), out, jobs=2, say=said.append)
    return said


def record(study, out, kind):
    """The record of a kind's first cell."""
    return record_of(study, study.cells(kind)[0], out)


def test_needed_runs_come_first_and_complete_ones_are_not_repeated(study, tmp_path):
    out = tmp_path / "out"
    assert names(study, out, "group/after") == [
        "before/all-0",
        *(f"group/after/{act}-{n}" for n in (0, 1) for act in ACTS),
    ]
    assert run(study, out, "group/after")[0] == "done: before/all-0"
    assert names(study, out, "group/after") == []
    line = calls(out / "group" / "after")[0]
    assert "--timesteps 20" in line and "--b runs" in line
    assert f"--init {out}/before/all-0/x" in line
    # Only the checkpoints that others need stay.
    assert (out / "before" / "all-0" / "checkpoints").is_dir()
    assert not (out / "group" / "after" / "SkyIsles.Act2-0" / "checkpoints").exists()
    out.rename(tmp_path / "there")
    assert names(study, tmp_path / "there", "group/after") == []  # wherever all runs lie


def test_record_says_what_came_of_a_run(study, tmp_path):
    study = changed(study, "group/plain", curve=("nothere",))
    run(study, tmp_path, "before", "group/curved", "group/plain")
    before, curved = record(study, tmp_path, "before"), record(study, tmp_path, "group/curved")
    levels = {act: 15.0 + len(f"BrambleDash-Genesis-v0:{act}") for act in ACTS}
    assert before["levels"] == levels
    assert (before["episodes"], before["finished"], before["steps"]) == (4, 0, 20)
    assert before["last"]["entropy"] == pytest.approx(1.95)  # of rows 19 and 20
    assert curved["episodes"] == 2
    assert curved["curve"] == {"step": [5, 10, 15, 20], "current": [5, 10, 15, 20]}
    assert "curve" not in record(study, tmp_path, "group/plain")


def test_columns_that_a_run_has_not_or_left_empty_are_left_out():
    table = {"step": np.arange(1, 41), "some": np.full(40, np.nan), "none": np.full(40, np.nan)}
    table["some"][[0, 37]] = 5.0, 7.0  # rows 37 to 40 are the last tenth
    found = last_rows(table, ["some", "none", "absent"])
    assert {name: values.tolist() for name, values in found.items()} == {"some": [7.0]}


def test_a_run_without_a_row_has_its_return_alone(study, tmp_path):
    run(study, tmp_path, "before")
    (tmp_path / "before/all-0/metrics.csv").write_text("step,entropy\n")
    assert [*measured(study, study.cells("before")[0], tmp_path)["last"]] == ["return"]


def test_cost_is_the_cpu_time_of_a_command_and_its_own(tmp_path):
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    own = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}]); sys.exit(3)"
    with (tmp_path / "log").open("w") as log:
        exit_code, seconds = ended([sys.executable, "-c", own], log)
    assert exit_code == 3
    assert 0.2 <= seconds < 20.0


@pytest.mark.parametrize(
    ("saves", "interrupts"), [(True, True), (False, True), (False, False)], ids=str
)
def test_a_command_that_is_stopped_saves_first_or_is_killed(
    tmp_path, monkeypatch, saves, interrupts
):
    if not saves:
        monkeypatch.setattr(processes, "GRACE", 0.2)
    hears = "lambda *_: sys.exit('saved')" if saves else "signal.SIG_IGN"
    code = f"import signal, sys, time\nsignal.signal(signal.SIGTERM, {hears})"
    command = [sys.executable, "-c", f"{code}\nprint('here', flush=True)\ntime.sleep(60)"]
    log, stopping = tmp_path / "log", threading.Event()

    def stop():
        while "here" not in log.read_text():
            time.sleep(0.01)
        if interrupts:
            _thread.interrupt_main()  # as Ray does it: no call is broken off
        else:
            stopping.set()

    expected = pytest.raises(KeyboardInterrupt) if interrupts else nullcontext()
    with log.open("w") as file, ThreadPoolExecutor(1) as pool:
        pool.submit(stop)
        with expected:
            exit_code, _ = ended(command, file, stopping=stopping)
            assert exit_code == -signal.SIGKILL
    assert ("saved" in log.read_text()) == saves


def test_what_ctrl_c_does_not_reach_is_ended(study, tmp_path):
    over = threading.Event()

    def play(*_, threads, stopping):
        _thread.interrupt_main()
        assert over.wait(20.0)

    with pytest.raises(KeyboardInterrupt):
        work(study, left(study, ["before"], tmp_path), tmp_path, jobs=1, say=print, play=play,
             stop=over.set)  # fmt: skip
    assert over.is_set()


@pytest.mark.parametrize("text", ['{"made": {', '{"x": 1}', "[]"])
def test_a_damaged_record_is_one_line(study, tmp_path, text):
    (tmp_path / "before").mkdir()
    (tmp_path / "before" / "all-0.json").write_text(text)
    with pytest.raises(UserError, match=r"all-0\.json.*run it again"):
        left(study, ["before"], tmp_path)


def test_stopped_run_goes_on_from_its_checkpoint_and_one_without_begins_anew(study, tmp_path):
    stopping = changed(study, "before", flags="--stop")
    with pytest.raises(UserError, match="1 of 1 failed: before/all-0"):
        run(stopping, tmp_path, "before")
    with pytest.raises(UserError, match="was made with flags '--stop', not ''"):
        names(study, tmp_path, "before")
    assert run(stopping, tmp_path, "before") == ["done: before/all-0"]
    folder = tmp_path / "before" / "all-0"
    assert calls(tmp_path / "before")[1] == f"--run-dir {folder} --resume"
    (tmp_path / "group" / "plain" / "SkyIsles.Act2-0").mkdir(parents=True)  # killed at its start
    run(study, tmp_path, "group/plain")
    assert len(calls(tmp_path / "group" / "plain")) == 4


def test_a_run_that_another_process_began_and_has_not_saved_is_left_alone(
    study, tmp_path, monkeypatch
):
    monkeypatch.setattr("retro_agents.ground.files.PATIENCE", 0.0)
    begun = tmp_path / "before" / "all-0"
    begun.mkdir(parents=True)
    (begun / "metrics.csv").touch()
    with run_folder.alone_in(begun), pytest.raises(UserError, match="1 of 1 failed: before/all-0"):
        run(study, tmp_path, "before")
    assert (begun / "metrics.csv").is_file()
    assert run(study, tmp_path, "before") == ["done: before/all-0"]


def test_a_run_that_another_command_saves_while_its_lock_is_awaited_is_resumed(
    study, tmp_path, monkeypatch
):
    folder = tmp_path / "before" / "all-0"
    folder.mkdir(parents=True)
    real = run_folder.alone_in

    @contextmanager
    def awaited(path):
        (path / "checkpoints" / "step-000000010").mkdir(parents=True)
        with real(path):
            yield

    monkeypatch.setattr("retro_agents.sweeps.launcher.alone_in", awaited)
    run(study, tmp_path, "before")
    assert calls(tmp_path / "before") == [f"--run-dir {folder} --resume"]


def test_a_run_that_another_command_completed_meanwhile_is_not_repeated(study, tmp_path):
    todo = left(study, ["before"], tmp_path)
    run(study, tmp_path, "before")
    made = calls(tmp_path / "before"), record(study, tmp_path, "before")
    work(study, todo, tmp_path, jobs=1, say=print)
    assert (calls(tmp_path / "before"), record(study, tmp_path, "before")) == made


def test_a_run_that_another_process_runs_is_awaited_while_others_run(study, tmp_path, monkeypatch):
    monkeypatch.setattr("retro_agents.ground.files.PATIENCE", 0.0)
    said, todo = [], left(study, ["before", "group/curved"], tmp_path)
    (tmp_path / "before").mkdir()
    with (tmp_path / "before" / "all-0.log").open("a") as held:
        wait_for_lock(held.fileno(), otherwise="")

        def say(line):
            said.append(line)
            if len(said) == len(todo):
                held.close()

        work(study, todo, tmp_path, jobs=1, say=say)
    assert said[0] == "waiting: another process runs before/all-0"
    assert said[-1] == "done: before/all-0" and len(said) == len(todo) + 1


def test_a_resumed_run_keeps_its_number_of_threads(study, tmp_path, monkeypatch):
    """On other numbers some trainings end with other weights."""
    threads = iter([3, 4])
    monkeypatch.setattr("retro_agents.sweeps.launcher.free_cores", lambda: 2 * next(threads))
    stopping = changed(study, "before", flags="--stop")
    for _ in range(2):
        with suppress(UserError):
            run(stopping, tmp_path, "before")
    found = record(stopping, tmp_path, "before")
    assert found["threads"] == 3 and "cpu_hours" not in found  # of which only a part was measured
    assert (tmp_path / "before/all-0/threads").read_text() == "3"


def test_failure_stops_only_what_needs_it(study, tmp_path):
    failing = changed(study, "before", flags="--fail")
    said, todo = [], left(failing, ["group/plain", "group/after"], tmp_path)
    with pytest.raises(UserError, match=r"1 of 9 failed: before/all-0; 4 that depend on others"):
        work(failing, todo, tmp_path, jobs=2, say=said.append)
    assert any(
        line.startswith("failed: before/all-0: fake_trainer failed (no disk); see ")
        for line in said
    )
    assert names(failing, tmp_path, "group/plain") == []
    assert "no disk" in (tmp_path / "before" / "all-0.log").read_text()


def test_runs_that_need_each_other_are_refused(study, tmp_path):
    circle = changed(study, "before", flags="--init <group/plain>")
    circle = changed(circle, "group/plain", flags="--init <before>", together=True, seeds=1)
    with pytest.raises(UserError, match="nothing can begin"):
        run(circle, tmp_path, "before")


@pytest.mark.parametrize("change", ["flags", "steps", "roms"])
def test_what_was_made_otherwise_is_refused(change, study, tmp_path):
    run(study, tmp_path, "before")
    path = tmp_path / "before" / "all-0.json"
    stored = json.loads(path.read_text())
    if change == "roms":
        stored["made"]["roms"]["BrambleDash-Genesis-v0"] = "0" * 40
        path.write_text(json.dumps(stored))
    else:
        study = changed(study, "before", **{change: {"flags": "--b 2", "steps": 21}[change]})
    for kinds in (["before"], ["group/after"]):
        with pytest.raises(
            UserError, match=rf"before/all-0 was made with {change} .*another --out"
        ):
            names(study, tmp_path, *kinds)
