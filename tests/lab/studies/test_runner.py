"""Cells wait for one another, go on where they stopped, and refuse what was made otherwise."""

import _thread
import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
import pytest

from retro_agents.ground.errors import UserError
from retro_agents.run import folder as run_folder
from retro_agents.sweeps.launcher import ended, last_tenth, left, record_of, work
from retro_agents.sweeps.study import Study, cells


def names(study: Study, out: Path, *kinds: str) -> list[str]:
    """Of the cells that are left."""
    return [cell.name for cell in left(study, kinds or list(study.kinds), out)]


def run(study: Study, out: Path, *kinds: str) -> list[str]:
    """Play what is left -> what was said."""
    said: list[str] = []
    todo = left(study, kinds or list(study.kinds), out)
    work(study, todo, out, jobs=2, say=said.append)
    return said


def calls(folder: Path) -> list[str]:
    return (folder / "calls.txt").read_text().splitlines()


def changed(study: Study, kind: str, **fields: object) -> Study:
    kinds = study.kinds | {kind: msgspec.structs.replace(study.kinds[kind], **fields)}  # type: ignore[arg-type]
    return msgspec.structs.replace(study, kinds=kinds)


def test_needed_runs_come_first_and_complete_ones_are_not_repeated(
    study: Study, tmp_path: Path
) -> None:
    assert names(study, tmp_path, "group/after") == [
        "before/all-0",
        *(f"group/after/{act}-{n}" for n in (0, 1) for act in ("RustCavern.Act2", "SkyIsles.Act2")),
    ]
    assert run(study, tmp_path, "group/after")[0] == "done: before/all-0"
    assert names(study, tmp_path, "group/after") == []
    line = calls(tmp_path / "group" / "after")[0]
    assert "--timesteps 20" in line and "--b runs" in line
    assert f"--init {tmp_path}/before/all-0/x" in line


def test_only_checkpoints_that_others_need_stay(study: Study, tmp_path: Path) -> None:
    run(study, tmp_path, "group/after")
    assert (tmp_path / "before" / "all-0" / "checkpoints").is_dir()
    assert not (tmp_path / "group" / "after" / "SkyIsles.Act2-0" / "checkpoints").exists()


def test_a_study_that_keeps_its_nets_deletes_none(study: Study, tmp_path: Path) -> None:
    run(msgspec.structs.replace(study, keep=True), tmp_path, "group/plain")
    assert len(list(tmp_path.glob("group/plain/*/checkpoints/step-*"))) == 4


def test_record_says_what_came_of_a_run(study: Study, tmp_path: Path) -> None:
    run(study, tmp_path, "before", "group/curved")
    before = record_of(study, cells(study, "before")[0], tmp_path)
    assert before is not None
    levels = {
        act: 15.0 + len(f"BrambleDash-Genesis-v0:{act}")
        for act in ("RustCavern.Act2", "SkyIsles.Act2")
    }
    assert before["levels"] == levels
    assert (before["episodes"], before["finished"], before["steps"]) == (4, 0, 20)
    assert before["last"]["entropy"] == pytest.approx(1.95)  # of rows 19 and 20
    curved = record_of(study, cells(study, "group/curved")[0], tmp_path)
    assert curved is not None
    assert curved["episodes"] == 2
    assert curved["curve"] == {"step": [5, 10, 15, 20], "current": [5, 10, 15, 20]}


def test_columns_that_a_run_has_not_or_left_empty_are_left_out() -> None:
    table = {"step": np.arange(1, 41), "some": np.full(40, np.nan), "none": np.full(40, np.nan)}
    table["some"][[0, 37]] = 5.0, 7.0  # rows 37 to 40 are the last tenth
    assert last_tenth(table, ["some", "none", "absent"]) == {"some": 7.0}


def test_cost_is_the_cpu_time_of_a_command_and_its_own(tmp_path):
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    own = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}]); sys.exit(3)"
    with (tmp_path / "log").open("w") as log:
        exit_code, seconds = ended([sys.executable, "-c", own], log)
    assert exit_code == 3
    assert 0.2 <= seconds < 20.0


def test_an_interrupt_ends_the_command_which_saves_first(tmp_path):
    saving = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit('saved'))"
    run = [sys.executable, "-c", f"{saving}\nprint('here', flush=True)\ntime.sleep(60)"]
    log = tmp_path / "log"

    def interrupt():  # as Ray does it: no call is broken off
        while "here" not in log.read_text():
            time.sleep(0.01)
        _thread.interrupt_main()

    with log.open("w") as file, ThreadPoolExecutor(1) as pool, pytest.raises(KeyboardInterrupt):
        pool.submit(interrupt)
        ended(run, file)
    assert "saved" in log.read_text()


def test_what_ctrl_c_does_not_reach_is_ended(study: Study, tmp_path: Path) -> None:
    over = threading.Event()

    def play(*_: object, threads: int) -> None:
        _thread.interrupt_main()
        assert over.wait(20.0)

    with pytest.raises(KeyboardInterrupt):
        work(study, left(study, ["before"], tmp_path), tmp_path, jobs=1, say=print, play=play,
             stop=over.set)  # fmt: skip
    assert over.is_set()


@pytest.mark.parametrize("text", ['{"made": {', '{"x": 1}', "[]"])
def test_a_damaged_record_is_one_line(study: Study, tmp_path: Path, text: str) -> None:
    (tmp_path / "before").mkdir()
    (tmp_path / "before" / "all-0.json").write_text(text)
    with pytest.raises(UserError, match=r"all-0\.json.*run it anew"):
        left(study, ["before"], tmp_path)


def test_a_curve_of_columns_that_a_run_has_not_is_left_out(study: Study, tmp_path: Path) -> None:
    odd = changed(study, "group/curved", curve=("nothere",))
    run(odd, tmp_path, "group/curved")
    assert "curve" not in (record_of(odd, cells(odd, "group/curved")[0], tmp_path) or {"curve": 1})


def test_stopped_run_goes_on_from_its_checkpoint_and_one_without_begins_anew(
    study: Study, tmp_path: Path
) -> None:
    stopping = changed(study, "before", flags="--stop")
    with pytest.raises(UserError, match="1 of 1 failed: before/all-0"):
        run(stopping, tmp_path, "before")
    assert run(stopping, tmp_path, "before") == ["done: before/all-0"]
    folder = tmp_path / "before" / "all-0"
    assert calls(tmp_path / "before")[1] == f"--run-dir {folder} --resume"
    (tmp_path / "group" / "plain" / "SkyIsles.Act2-0").mkdir(parents=True)  # killed at its start
    run(study, tmp_path, "group/plain")
    assert len(calls(tmp_path / "group" / "plain")) == 4


def test_a_run_that_another_process_began_and_has_not_saved_is_left_alone(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retro_agents.ground.files.PATIENCE", 0.0)
    begun = tmp_path / "before" / "all-0"
    begun.mkdir(parents=True)
    (begun / "metrics.csv").touch()
    with run_folder.alone_in(begun), pytest.raises(UserError, match="1 of 1 failed: before/all-0"):
        run(study, tmp_path, "before")
    assert (begun / "metrics.csv").is_file()
    assert run(study, tmp_path, "before") == ["done: before/all-0"]


def test_failure_stops_only_what_needs_it(study: Study, tmp_path: Path) -> None:
    failing = changed(study, "before", flags="--fail")
    with pytest.raises(UserError, match=r"1 of 9 failed: before/all-0; 4 that need others"):
        run(failing, tmp_path, "group/plain", "group/after")
    assert names(failing, tmp_path, "group/plain") == []
    assert "no disk" in (tmp_path / "before" / "all-0.log").read_text()


def test_runs_that_need_each_other_are_refused(study: Study, tmp_path: Path) -> None:
    one = {"together": True, "seeds": 1}
    circle = changed(study, "before", flags="--init <group/plain>")
    circle = changed(circle, "group/plain", flags="--init <before>", **one)
    with pytest.raises(UserError, match="nothing can begin"):
        run(circle, tmp_path, "before")


def test_acts_of_one_name_in_two_games_are_refused(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retro_agents.sweeps.study.level_names", lambda levels: levels.split(","))
    both = "BrambleDash-Genesis-v0:RustCavern.Act2,Other-Genesis-v0:RustCavern.Act2"
    with pytest.raises(UserError, match="acts of one name"):
        cells(changed(study, "group/plain", levels=both), "group/plain")


@pytest.mark.parametrize("change", ["flags", "steps", "roms"])
def test_what_was_made_otherwise_is_refused(change: str, study: Study, tmp_path: Path) -> None:
    run(study, tmp_path, "before")
    if change == "roms":
        path = tmp_path / "before" / "all-0.json"
        record = json.loads(path.read_text())
        record["made"]["roms"]["BrambleDash-Genesis-v0"] = "0" * 40
        path.write_text(json.dumps(record))
        other = study
    else:
        other = changed(study, "before", **{change: {"flags": "--b 2", "steps": 21}[change]})
    for kinds in (["before"], ["group/after"]):
        with pytest.raises(
            UserError, match=rf"before/all-0 was made with {change} .*another --out"
        ):
            names(other, tmp_path, *kinds)


def test_run_that_was_stopped_is_not_gone_on_with_other_settings(
    study: Study, tmp_path: Path
) -> None:
    stopping = changed(study, "before", flags="--stop")
    with pytest.raises(UserError, match="failed"):
        run(stopping, tmp_path, "before")
    with pytest.raises(UserError, match="was made with flags '--stop', not ''"):
        names(study, tmp_path, "before")


def test_place_of_all_runs_makes_no_difference(study: Study, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    run(study, here, "group/after")
    here.rename(there)
    assert names(study, there, "group/after") == []
