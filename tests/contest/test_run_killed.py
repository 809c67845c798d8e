"""The contest's command against kills and signals at any time."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from retro_agents.contest.run import main
from tests.runs import gone, processes_of, soon

LEVEL = "BrambleDash-Genesis-v0:SnowRidge.Act4"


def run_command(out, *flags):
    command = [sys.executable, "-m", "retro_agents.contest.run", "--agent", "random"]
    command += ["--levels", LEVEL, "--seeds", "1", "--timesteps", "1000000"]
    command += ["--out", str(out), *flags]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def episodes(out):
    """Rows of the one job's monitor.csv."""
    files = out.glob("*/seed-0/monitor.csv")
    return [row for path in files for row in path.read_text().splitlines()[1:]]


@pytest.mark.parametrize(("kind", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_interrupted_contest_keeps_its_episodes_and_leaves_no_process(
    tmp_path, kind, code, refused, monkeypatch
):
    monkeypatch.setattr("retro_agents.ground.files.PATIENCE", 0.0)
    with run_command(tmp_path) as process:
        assert (before := soon(lambda: episodes(tmp_path)))
        words = ["--agent", "random", "--levels", LEVEL, "--out", str(tmp_path)]
        assert "another contest runs" in refused(main, words)
        time.sleep(random.Random(int(kind)).random())
        process.send_signal(kind)
        assert process.wait(30) == code
    assert gone(tmp_path)
    rows, result = episodes(tmp_path), result_of(tmp_path)
    assert rows[: len(before)] == before
    assert result["episodes"] == len(rows)
    assert result.get("status") is None
    if kind != signal.SIGKILL:  # the table is of what was played, and says so
        said = "SnowRidge.Act4, seed 0: not over: still playing, or interrupted"
        assert said in (tmp_path / "table.md").read_text()


def test_level_that_was_played_to_its_last_step_is_over_whatever_interrupts_its_agent(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    flags = ["--agent", "example_agent:linger", "--timesteps", "50"]
    with run_command(tmp_path, *flags) as process:
        assert soon(lambda: result_of(tmp_path).get("ended"))
        process.terminate()
        assert process.wait(30) == 143
    assert gone(tmp_path)
    assert result_of(tmp_path)["status"] == "complete"


def result_of(out):
    """The result.json of the only job, so far."""
    found = [*out.glob("*/seed-0/result.json")]
    return json.loads(found[0].read_text()) if found else {}


def test_killed_server_is_an_interruption_and_costs_no_ended_episode(tmp_path):
    with run_command(tmp_path) as process:
        assert (before := soon(lambda: episodes(tmp_path)))
        time.sleep(random.Random(5).random())
        (server,) = [pid for pid in processes_of(tmp_path) if is_server(pid)]
        os.kill(server, signal.SIGKILL)
        assert process.wait(60) == 1
    assert gone(tmp_path)
    assert episodes(tmp_path)[: len(before)] == before
    assert json.loads((tmp_path / "result.json").read_text())["jobs"][0]["status"] == "interrupted"


def is_server(pid):
    return b"retro_agents.contest.serve" in Path(f"/proc/{pid}/cmdline").read_bytes()
