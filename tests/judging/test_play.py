"""Playing against an agent."""

from retro_agents.games.retro.levels import parse_level
from retro_agents.judging.play import AgentRival


def test_an_agent_plays_a_step_for_every_four_frames_of_yours():
    rival = AgentRival("hold-right")
    rival.begin(parse_level("BrambleWood.Act1"))
    shown = [rival.frame() for _ in range(40)]
    assert shown[0][0].shape == (224, 320, 3)
    changes = [i for i in range(1, 40) if shown[i][1] != shown[i - 1][1]]
    assert changes and {i % 4 for i in changes} == {0}
    rival.begin(parse_level("BrambleWood.Act2"))
    assert rival.frame()[1] <= shown[-1][1]
