"""However a sweep or a study ends, its runs end with it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.runs import ROOT

STUDY = """
levels: BrambleDash-Genesis-v0:RustCavern.Act2
seeds: 1
steps: 20
kinds: {waiting: {run: toy.train, flags: --gamma=0.5}}
"""


def living(out):
    """Processes whose command line names the folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            text = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(out) in text and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


@pytest.mark.parametrize(
    ("command", "number", "code"),
    [
        ("sweep", signal.SIGKILL, -9),
        ("sweep", signal.SIGTERM, 143),
        ("sweep", signal.SIGHUP, 129),
        ("sweep", signal.SIGABRT, -6),
        ("study", signal.SIGINT, 130),
        ("study", signal.SIGKILL, -9),
    ],
)
def test_no_run_outlives_the_command_that_began_it(command, number, code, tmp_path):
    out = tmp_path / "out"
    if command == "study":
        (tmp_path / "study.yaml").write_text(STUDY)
        words = ["-m", "lab.studies", str(tmp_path / "study.yaml"), "--out", str(out)]
    else:
        words = ["-m", "retro_agents.sweeps", "--agent", "toy", "--grid", "gamma=0.1,0.2"]
        words += ["--out", str(out), "--jobs", "2"]
    out.mkdir()
    waits = out / "waits"
    waits.touch()
    with subprocess.Popen([sys.executable, *words], cwd=ROOT) as process:
        while not waits.read_text():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait(30) == code
    deadline = time.monotonic() + 30
    while found := living(out):
        assert time.monotonic() < deadline, found
        time.sleep(0.01)
