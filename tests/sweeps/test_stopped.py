"""However a sweep or a study ends, its runs end with it."""

import signal
import subprocess
import sys
import time

import pytest

from tests.runs import ROOT, gone

STUDY = """
levels: BrambleDash-Genesis-v0:RustCavern.Act2
seeds: 1
steps: 20
kinds: {waiting: {run: toy.train, flags: --gamma=0.5}}
"""


@pytest.mark.parametrize(
    ("command", "number", "code"),
    [
        ("sweep", signal.SIGKILL, -9),
        ("sweep", signal.SIGTERM, 143),
        ("sweep", signal.SIGHUP, 129),
        ("study", signal.SIGINT, 130),
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
    assert gone(out)
