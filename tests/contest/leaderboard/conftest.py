"""A leaderboard of one act, and entries that play it with nothing but Python's own library."""

import json
import shutil
import sys
from functools import partial
from pathlib import Path

import msgspec
import pytest

from retro_agents.contest.leaderboard import entry, play, season
from retro_agents.contest.leaderboard.check import main as check
from retro_agents.contest.leaderboard.page import main as page
from retro_agents.contest.leaderboard.score import main as score
from tests.runs import ROOT

STEPS = 40
FACTS = {"who": "we", "what": "a test", "licence": "MIT", "pretraining": None, "steps": 0}
CLIENT = """
import json, os, signal, socket, sys, time
from pathlib import Path

meet, steps = Path(os.environ["CONTEST_DIR"]), int(os.environ["CONTEST_STEPS"])
while not (meet / "sock").exists():
    time.sleep(0.01)
line = socket.socket(socket.AF_UNIX)
line.connect(str(meet / "sock"))

def hear():
    said = bytearray()
    while not said.endswith(b"\\f"):
        said += line.recv(1) or sys.exit("gone")
    return said[:-1].decode()

def ask(**content):
    line.sendall(json.dumps({"type": "update", "content": content}).encode() + b"\\f")
    return json.loads(hear())

def play(count):
    ask(reset=True)
    for step in range(count):
        if ask(ac=128 if step % 5 else 1)["content"]["done"] and step + 1 < count:
            ask(reset=True)

description = hear()
"""
"""128 is RIGHT, 1 is B."""


class Board:
    """A leaderboard in a folder of the test."""

    def __init__(self, root: Path) -> None:
        self.root, self.found = root, root / "found"
        ours = season.current_season(ROOT / "leaderboard")
        self.act = ours.acts[0]
        folder = root / "seasons" / "1"
        folder.mkdir(parents=True)
        facts = msgspec.structs.replace(ours.facts, acts={self.act: 0}, entries={})
        (folder / season.FILE).write_bytes(msgspec.json.encode(facts))
        (folder / season.ACTS).write_bytes(ours.pack)

    def entry(self, code: str = "play(steps)", **facts) -> Path:
        """Its folder."""
        folder = self.root / "entries" / "mine"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "play.py").write_text(f"{CLIENT}\nFOUND = Path({str(self.found)!r})\n{code}\n")
        player = {} if {"agent", "onnx", "image"} & {*facts} else {"command": ["python", "play.py"]}
        said = {**FACTS, "machine": "free", **player, **facts}
        (folder / "entry.json").write_text(json.dumps(said))
        return folder

    def score(self, folder: Path, *flags: str):
        """Without namespaces too."""
        score([str(folder), "--board", str(self.root), "--trust", *flags])
        return self.result()

    def check(self, *words: Path | str) -> None:
        check([*map(str, words), "--board", str(self.root)])

    def page(self, *flags: str) -> str:
        """The text of its page, made anew."""
        page(["--board", str(self.root), *flags])
        return (self.root / "page.md").read_text()

    @property
    def results(self) -> Path:
        return self.root / "results" / "1" / "mine"

    def result(self):
        return json.loads((self.results / "result.json").read_text())


@pytest.fixture
def board(tmp_path, monkeypatch):
    monkeypatch.setattr(entry, "FROZEN_STEPS", STEPS)
    monkeypatch.setattr(sys, "argv", ["retro-agents"])
    return Board(tmp_path)


@pytest.fixture
def logs(monkeypatch):
    """What the entries of all runs wrote."""
    found: list[str] = []

    def last_line(log, **_) -> str:
        log.seek(0)
        found.append(log.read().decode())
        return found[-1]

    monkeypatch.setattr(play, "last_line", last_line)
    return found


@pytest.fixture
def unhidden(monkeypatch):
    """A system without namespaces."""
    monkeypatch.setattr(play, "can_hide", lambda: False)


@pytest.fixture
def refused(refused):
    """There may be warnings before the error."""
    return partial(refused, noisy=True)
