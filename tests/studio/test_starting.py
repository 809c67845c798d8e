"""The forms that start runs and contests."""

import random
import shlex
import shutil
import subprocess
import sys
import time

import pytest

from retro_agents.run.checkpoint import load_agent
from retro_agents.run.folder import alone_in
from retro_agents.run.provenance import recorded
from retro_agents.studio import app
from retro_agents.studio.__main__ import has_browser, main, said
from retro_agents.studio.index import Index
from tests.runs import KILLS, ROOT
from tests.studio.conftest import TOKEN, Client, processes
from tests.studio.runs import make_run

RUN = {"type": "run", "agent": "jerk", "name": "new", "levels": "BrambleWood.Act1"}
CONTEST = {"type": "contest", "agent": "random", "name": "new", "levels": "bramble-test"}


@pytest.mark.parametrize(
    ("wanted", "command"),
    [
        ({**RUN, "seed": "3"}, "jerk.train --run-dir {}/new --levels=BrambleWood.Act1 --seed=3"),
        ({**RUN, "flags": "--num-envs 2"}, "jerk.train --run-dir {}/new --levels=BrambleWood.Act1"
         " --num-envs 2"),
        (CONTEST, "retro_agents.contest.run --agent random --levels=bramble-test --out {}/new"),
        (
            {**CONTEST, "agent": "ppo2", "mode": "frozen", "seeds": "2"},
            "retro_agents.contest.run --agent ppo2 --checkpoint ppo2 --mode=frozen"
            " --levels=bramble-test --seeds=2 --out {}/new",
        ),
    ],
)  # fmt: skip
def test_a_form_stands_for_a_command(studio, tmp_path, wanted, command):
    found = studio(tmp_path).ask("/api/command", wanted)[1]
    assert found == {"command": f"python -m {command.format(tmp_path)}"}


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({**RUN, "name": "page"}, "exists"),
        ({**RUN, "name": "a/b"}, "letters"),
        *(({**RUN, "name": name}, "no runs are looked") for name in ("films", "step-000000001")),
        ({**RUN, "agent": "os"}, "no agent"),
        ({**RUN, "timesteps": "many"}, "--timesteps"),
        ({**RUN, "flags": "--run-dir elsewhere"}, "--run-dir"),
        ({**RUN, "flags": "'"}, "quotation"),
        ({**RUN, "flags": "--resume"}, "leave out"),
        ({**RUN, "flags": "-hh"}, "leave out"),
        ({**RUN, "flags": "--track mlflow"}, "mlflow is not installed: run"),
        ({**CONTEST, "levels": "procgen:coinrun"}, "contest"),
        ({**CONTEST, "agent": "nobody"}, "no such agent"),
        ({**CONTEST, "seeds": "0"}, "seeds"),
    ],
)
def test_what_would_not_start_is_said(studio, tmp_path, wanted, why):
    client = studio(tmp_path)
    assert why in client.ask("/api/command", wanted)[1]["flaw"]
    assert client.ask("/api/start", wanted)[0] == 400
    assert [path.name for path in tmp_path.iterdir()] == ["page"]


def test_a_run_is_started_and_ends(studio, tmp_path):
    client, before = studio(tmp_path / "runs"), processes()
    assert client.ask("/api/start", {**RUN, "timesteps": "200"})[0] == 200
    rows = client.rows(lambda rows: rows.get("new", {}).get("state") == "finished")
    assert rows["new"]["steps"] >= 200
    while processes() - before:  # until it has said that it ends
        assert client.ask("/api/runs")[1]["failures"] == {}
        time.sleep(0.05)
    assert client.ask("/api/start", RUN)[0] == 400


def test_a_run_that_fails_says_why_and_is_read_once(studio, tmp_path):
    root = tmp_path / "runs"
    client = studio(root)
    assert client.ask("/api/start", {**RUN, "flags": "--init nowhere"})[0] == 200
    while not (found := client.ask("/api/runs")[1]["failures"]):
        time.sleep(0.05)
    assert "nowhere" in found["new"]
    (root / "new" / "output.txt").unlink()
    assert client.ask("/api/runs")[1]["failures"] == found
    shutil.rmtree(root / "new")
    assert client.ask("/api/runs")[1]["failures"] == {}


@pytest.mark.parametrize("watched", [True, False])
def test_a_run_that_was_killed_says_so_until_it_is_resumed(tmp_path, watched):
    make_run(tmp_path / "new")
    (tmp_path / "new" / "output.txt").write_text("ppo2: 10/20 steps\n")
    started = app.Studio(tmp_path, tmp_path).started
    with subprocess.Popen(["sleep", "60"]) as process:
        process.kill()
    started._processes["new"] = process
    said = "it was killed by signal 9; its last line: ppo2: 10/20 steps"
    assert started.failures()["new"] == said
    if watched:
        with alone_in(tmp_path / "new"):
            assert started.failures() == {}
    else:
        with recorded(tmp_path / "new", "ppo2", env_steps=10):
            pass
    assert started.failures() == {}


@pytest.mark.parametrize("code", [0, 129, 130, 143])
def test_a_run_that_was_ended_and_saved_is_no_failure(tmp_path, code):
    make_run(tmp_path / "new")
    started = app.Studio(tmp_path, tmp_path).started
    with subprocess.Popen(["sh", "-c", f"exit {code}"]) as process:
        started._processes["new"] = process
    assert started.failures() == {}


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path, refused, monkeypatch):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("link")
    for name in ("missing", "file", "link", "long" * 100):
        monkeypatch.setattr(sys, "argv", ["studio", str(tmp_path / name)])
        assert "cannot be listed" in refused(main)


def test_the_default_folder_may_be_missing(tmp_path, refused, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(app, "PAGE", tmp_path / "page")
    monkeypatch.setattr(sys, "argv", ["studio"])
    assert "the page is not built" in refused(main)  # which comes next
    monkeypatch.setattr(sys, "argv", ["studio", "others"])
    assert "others cannot be listed" in refused(main)


def test_an_empty_or_missing_folder_is_shown_with_a_command_that_trains(studio, tmp_path):
    found = studio(tmp_path / "my runs").ask("/api/runs")[1]
    assert found["rows"] == []
    words = shlex.split(found["first"])
    assert words[:2] == ["retro-agents", "train"]
    assert words[-1] == str(tmp_path / "my runs" / "first")


@pytest.mark.parametrize(
    ("in_checkout", "advice"),
    [
        (True, "run scripts/web (Node 20 and npm)"),
        (False, "run scripts/web (Node 20 and npm) in a checkout, then install that again"),
    ],
)
def test_a_page_that_is_not_built_is_refused(tmp_path, refused, monkeypatch, in_checkout, advice):
    monkeypatch.setattr(app, "PAGE", tmp_path / "page")
    monkeypatch.setattr("retro_agents.studio.__main__.IN_CHECKOUT", in_checkout)
    monkeypatch.setattr(sys, "argv", ["studio", str(tmp_path)])
    assert refused(main) == f"error: the page is not built: {advice}"


SERVER = """
import sys
from pathlib import Path
from retro_agents.studio.__main__ import listening, server_of
from retro_agents.studio.app import app_of
root, token = sys.argv[1:]
with listening(0) as listener:
    port = listener.getsockname()[1]
    print(port, flush=True)
    app = app_of(Path(root), exports=Path(root).parent, token=token)
    server_of(app).run([listener])
"""


@pytest.mark.parametrize("seed", range(KILLS))
def test_a_killed_studio_harms_no_run(tmp_path, seed):
    root, moment = tmp_path / "runs", random.Random(seed)
    make_run(root / "other")
    words = [sys.executable, "-c", SERVER, str(root), TOKEN]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE) as it:
        client = Client(int(it.stdout.readline()))
        assert client.ask("/api/start", {**RUN, "timesteps": "200"})[0] == 200
        for _ in range(moment.randrange(200)):
            client.ask("/api/episodes", query={"run": "other"})
        it.kill()
    seen = Index(root)
    while not (row := {row.id: row for row in seen.ask()}.get("new")) or row.state != "finished":
        time.sleep(0.05)
    assert (row.error, row.steps >= 200) == ("", True)
    load_agent(root / "new")  # or it is damaged


def test_over_ssh_the_line_that_forwards_the_port_is_printed(monkeypatch):
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    assert "ssh" not in said("http://127.0.0.1:8056/", 8056) and has_browser()
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.2 5 10.0.0.1 22")
    monkeypatch.setenv("USER", "me")
    assert "ssh -N -L 8056:127.0.0.1:8056 me@10.0.0.1" in said("http://127.0.0.1:8056/", 8056)
    assert not has_browser()


@pytest.mark.skipif(sys.platform == "darwin", reason="it always has a display")
def test_where_windows_are_drawn_to_memory_no_browser_is_opened(monkeypatch):
    """A text browser would hold up the server."""
    for name in ("SSH_CONNECTION", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    assert not has_browser()
