import numpy as np
import pytest

from retro_agents.contract.envs import EnvSpec
from retro_agents.contract.frames import FrameHistory, parse_offsets
from retro_agents.ground.errors import UserError

SHAPE = (3, 4, 5)


@pytest.mark.parametrize("text", ["0", "0,-3", "0,-7", "0,-1,-2,-3"])
def test_offsets_are_the_frames_of_that_age_or_an_episodes_first(text):
    back, rng = parse_offsets(text), np.random.default_rng(0)
    history = FrameHistory(2, frame_shape=SHAPE, steps_back=back)
    episodes = [[], []]
    for step in range(25):
        begins = step in (0, 3, 14)
        frames = rng.integers(256, size=(2, *SHAPE), dtype=np.uint8)
        for row in (1, 0):  # each at its own time
            (history.begin if begins else history.add)(np.array([row]), frames[row][None])
            episodes[row] = [*episodes[row], frames[row]] if not begins else [frames[row]]
        for shown, episode in zip(history.observations(np.arange(2)), episodes, strict=True):
            wanted = [episode[max(len(episode) - 1 - age, 0)] for age in back]
            np.testing.assert_array_equal(shown, np.concatenate(wanted))


def test_bad_offsets_are_a_user_error_and_without_any_frames_come_in_a_row():
    for text in ("", "1", "-3", "0,-3,-3", "0,x", "0,--3", "0,-256"):
        with pytest.raises(UserError, match="--frames"):
            parse_offsets(text)
    spec = EnvSpec("toy", (6, 4, 4), 3, ("A",), 1, {})
    assert spec.steps_back == (2, 1, 0) and spec.channels == 2
