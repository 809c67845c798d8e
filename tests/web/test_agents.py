"""The page's copies of what Python holds are up to date."""

import json

import onnxruntime
import pytest

from retro_agents.run.agents import AGENTS, shipped
from retro_agents.run.checkpoint import load_agent
from retro_agents.run.export import metadata_of
from tests.runs import ROOT
from tests.web.learned import FILE as LEARNED
from tests.web.learned import RUNS, learned
from tests.web.reference import FILE, reference


@pytest.mark.parametrize("name", [name for name in AGENTS if shipped(name)])
def test_the_page_has_the_shipped_agents(name):
    session = onnxruntime.InferenceSession(ROOT / "web" / "agents" / f"{name}.onnx")
    made = session.get_modelmeta().custom_metadata_map
    now = metadata_of(load_agent(name), name=name)
    version = {"made_by": now["made_by"]}  # an earlier version's are as good
    assert made | version == now


def test_python_plays_as_the_page_is_compared_with():
    assert reference() == json.loads(FILE.read_text(encoding="utf-8"))


def test_python_learns_as_the_page_is_compared_with():
    committed = json.loads(LEARNED.read_text(encoding="utf-8"))
    assert learned(*RUNS[0]) == committed[0]
