"""What a run may go on with."""

from types import SimpleNamespace

import pytest

from experience.handover import check_seen_alike
from experiment.config import from_dict, replaced
from experiment.errors import UserError
from ppo2.config import PPO2Config


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"frames": "0,-7"}, r"\(3, 0\), not \(7, 0\).*--frames"),
        ({"frame_difference": True}, "False, not True.*--frame-difference"),
        ({"frames": "0"}, "--frames"),
    ],
)
def test_other_pictures_than_those_that_were_seen_are_refused(changes, said):
    config = from_dict(PPO2Config, {"levels": "procgen:coinrun", "frames": "0,-3"})
    saved = SimpleNamespace(config_as=lambda _: config)
    check_seen_alike(saved, config)
    with pytest.raises(UserError, match=said):
        check_seen_alike(saved, replaced(config, **changes))
