"""What `import retro_agents` offers."""

from importlib.metadata import version

import retro_agents


def test_the_public_names_are_listed_for_completion_and_for_a_star():
    names: dict = {}
    exec("from retro_agents import *", names)
    assert {*retro_agents.__all__} == {*retro_agents.HOMES} == {*names} - {"__builtins__"}
    assert {*retro_agents.HOMES, "__version__"} <= {*dir(retro_agents)}
    assert retro_agents.__version__ == version("retro-contest-agents")
