"""What the page of published statements names is there. (test_tables.py looks up its figures.)"""

import importlib.util
import shlex
import sys

import pytest

from lab.studies.published import VERDICTS, figure, statements
from retro_agents.command import main
from retro_agents.ground.errors import UserError
from retro_agents.ground.results import ROOT
from retro_agents.run.agents import find
from retro_agents.run.config import preset_names
from retro_agents.run.fields import flag_of, kinds

STATEMENTS = statements()
PLACES = sorted({where for one in STATEMENTS for where in one.get("where", ())})
RUNS = sorted({one["run"] for one in STATEMENTS if "run" in one})


def test_every_statement_has_a_verdict_and_says_why_it_is_not_met():
    for one in STATEMENTS:
        assert one["verdict"] in VERDICTS
        assert one["verdict"] == "works" or one.get("note"), one["says"]
        assert one.keys() <= {"says", "where", "run", "ours", "theirs", "verdict", "note"}


@pytest.mark.parametrize("where", PLACES)
def test_every_file_flag_and_preset_is_there(where):
    agent, _, what = where.partition(" ")
    if not what:
        assert (ROOT / where).exists()
    elif what.startswith("--"):
        known = {flag_of(name) for found in kinds(find(agent).Config).values() for name in found}
        assert what in known
    else:
        assert what.removeprefix("preset ") in preset_names(find(agent).PRESETS)


@pytest.mark.parametrize("run", RUNS)
def test_every_command_is_one(run, refused, monkeypatch):
    words = shlex.split(run)
    if words[0] == "mpirun":
        assert (ROOT / words[4]).exists()
        words = ["python", "-m", "es.train", *words[5:]]
    if words[0] in ("docker", "scripts/test"):
        assert all((ROOT / word).exists() for word in words if "/" in word or word == ".")
    elif words[0] == "python" and words[2].endswith(".train"):
        find(words[2].partition(".")[0]).part("train", "parse")(words[3:])
    elif words[0] == "python":
        assert importlib.util.find_spec(words[2])
    else:
        plans = [words[i + 1] for i, word in enumerate(words) if word == "--plan"]
        assert all((ROOT / f"lab/plans/{plan}.yaml").exists() for plan in plans)
        monkeypatch.setattr(sys, "argv", words)
        first_unknown = refused(main, [*words[1:], "--no-such-flag"])
        assert "--no-such-flag" in first_unknown


def test_a_figure_that_is_not_stored_is_an_error():
    with pytest.raises(UserError, match="no row with"):
        figure({"in": "entry/agents", "label": "PPO3", "take": "learning"})
