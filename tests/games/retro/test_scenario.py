"""Which scenarios are evaluated here, and which by stable-retro."""

from types import SimpleNamespace

import pytest

from retro_agents.games.retro.scenario import ScriptedScenario, VariableScenario, make_scenario

SCORE = {"variables": {"score": {"reward": 1}}}


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ({"reward": SCORE, "done": {"condition": "all", **SCORE}}, VariableScenario),
        ({"reward": {**SCORE, "time": {"penalty": 1}}}, ScriptedScenario),
        ({"reward": SCORE, "done": {"nodes": {"over": SCORE}}}, ScriptedScenario),
        ({"reward": {"script": "lua:reward"}, "scripts": ["script.lua"]}, ScriptedScenario),
    ],
)
def test_only_plain_variables_are_evaluated_here(spec, kind):
    data = SimpleNamespace(lookup_value=int, list_variables=lambda: {"score": 1})
    assert type(make_scenario(spec, data)) is kind
