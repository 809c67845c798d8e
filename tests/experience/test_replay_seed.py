"""What a run may go on with."""

from types import SimpleNamespace

import pytest

from ppo2.config import PPO2Config
from retro_agents.experience.replay_seed import check_seen_alike
from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.ground.errors import UserError
from retro_agents.run.agents import check_alike
from retro_agents.run.config import from_dict, replaced


def test_frames_are_told_by_a_flag_that_their_family_has():
    config = PPO2Config()
    saved = SimpleNamespace(config_as=lambda _: config)
    with pytest.raises(UserError, match="with --frame-stack 4"):
        check_seen_alike(saved, replaced(config, frame_stack=2))


def test_an_agent_that_saw_other_frames_is_not_alike():
    theirs = ProcgenConfig(frames="0,-3")
    with pytest.raises(UserError, match="give --frames 0,-3"):
        check_alike(theirs, replaced(theirs, frames="0,-7"), source="there")
    check_alike(theirs, ProcgenConfig(frames="0,-3"), source="there")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"frames": "0,-7"}, "with --frames 0,-3$"),
        ({"frames": "0"}, "with --frames 0,-3$"),
    ],
)
def test_other_pictures_than_those_that_were_seen_are_refused(changes, said):
    config = from_dict(PPO2Config, {"levels": "procgen:coinrun", "frames": "0,-3"})
    saved = SimpleNamespace(config_as=lambda _: config)
    check_seen_alike(saved, config)
    with pytest.raises(UserError, match=said):
        check_seen_alike(saved, replaced(config, **changes))
