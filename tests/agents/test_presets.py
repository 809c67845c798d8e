"""Presets have the values of the papers and programs that they are named after."""

from pathlib import Path

import pytest
import yaml

from retro_agents.run.agents import find
from retro_agents.run.config import flat, to_dict

PUBLISHED = yaml.safe_load((Path(__file__).parent / "published.yaml").read_text(encoding="utf-8"))
PRESETS = [(agent, preset) for agent, presets in PUBLISHED.items() for preset in presets]


@pytest.mark.parametrize(("agent", "preset"), PRESETS)
def test_a_preset_has_the_published_values(agent, preset):
    found = flat(to_dict(find(agent).part("train", "parse")(["--preset", preset])))
    published = PUBLISHED[agent][preset]
    assert {name: found[name] for name in published} == published
