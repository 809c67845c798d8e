"""What holds for every command: `python -m PACKAGE.MODULE`."""

import importlib
import sys

import pytest

from tests.runs import ROOT, in_python

INNER = (
    "lab.benchmarks.peers.",
    "es.master",
    "retro_agents.contest.leaderboard.warden",
    "retro_agents.games.procgen.original",
    "retro_agents.games.retro.playback",
    "retro_agents.games.retro.worker",
    "retro_agents.ground.leash",
    "retro_agents.template.",
    "retro_agents.studio.player",
    "retro_agents.studio.sequences",
)
"""Others start these, in ways of their own; peers' code is only timed."""
COMMANDS = [
    name
    for package in sorted(ROOT.glob("*/__init__.py"))
    for path in sorted(package.parent.rglob("*.py"))
    if '__name__ == "__main__"' in path.read_text()
    and not (name := ".".join(path.relative_to(ROOT).with_suffix("").parts)).startswith(INNER)
]


MADE_OF_EXTRAS = ("cartridge.", "lab.", "ppo2.clone")
"""These run in a checkout, whose scripts/install brings what they are made of."""
ALONE = """
import sys
from importlib import import_module
from retro_agents.ground.errors import EXTRAS

sys.modules.update(dict.fromkeys(EXTRAS))  # as if they were not installed
for name in sys.argv[1:]:
    import_module(name)
"""


def test_commands_begin_without_any_extra():
    """What they lack of one is then said in one line."""
    assert {"ppo2.train", "retro_agents.contest.run"} < set(COMMANDS)
    alone = [name for name in COMMANDS if not name.startswith(MADE_OF_EXTRAS)]
    done = in_python(ALONE, *alone)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_misspelt_flag_is_refused_before_anything_is_done(name, monkeypatch, tmp_path, refused):
    if name.startswith("lab.benchmarks.sb3_"):
        pytest.importorskip("stable_baselines3")
    module = importlib.import_module(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, "--no-such-flag"])
    assert "usage:" not in refused(module.main)
    assert not list(tmp_path.iterdir())
