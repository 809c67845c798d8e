"""The page's copies of what Python holds are up to date."""

import json

import onnxruntime
import pytest

from retro_agents.run.agents import AGENTS, shipped
from retro_agents.run.checkpoint import load_agent
from retro_agents.run.export import metadata_of
from tests.runs import ROOT
from tests.web.reference import FILE, reference


@pytest.mark.parametrize("name", [name for name in AGENTS if shipped(name)])
def test_the_page_has_the_shipped_agents(name):
    session = onnxruntime.InferenceSession(ROOT / "web" / "agents" / f"{name}.onnx")
    assert session.get_modelmeta().custom_metadata_map == metadata_of(load_agent(name), name=name)


def test_python_plays_as_the_page_is_compared_with():
    assert reference() == json.loads(FILE.read_text(encoding="utf-8"))
