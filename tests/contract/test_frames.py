import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import FrameStackObservation

from retro_agents.contract.envs import EnvSpec
from retro_agents.contract.frames import FrameHistory, parse_offsets
from retro_agents.ground.errors import UserError

SHAPE = (3, 4, 5)


class Noise(gymnasium.Env):
    """Every frame is another one."""

    observation_space = gymnasium.spaces.Box(0, 255, SHAPE, np.uint8)
    action_space = gymnasium.spaces.Discrete(1)

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def frame(self):
        return self.rng.integers(256, size=SHAPE, dtype=np.uint8)

    def reset(self, *, seed=None, options=None):
        return self.frame(), {}

    def step(self, action):
        return self.frame(), 0.0, False, False, {}


@pytest.mark.parametrize("text", ["0", "0,-3", "0,-7", "0,-1,-2,-3"])
def test_offsets_are_those_frames_of_gymnasiums_stack(text):
    back = parse_offsets(text)
    history = FrameHistory(2, frame_shape=SHAPE, steps_back=back)
    source = [Noise(seed) for seed in (0, 1)]
    stacks = [
        FrameStackObservation(Noise(seed), back[0] + 1, padding_type="reset") for seed in (0, 1)
    ]
    for step in range(25):
        begins = step in (0, 3, 14)
        theirs = [stack.reset()[0] if begins else stack.step(0)[0] for stack in stacks]
        frames = np.stack([env.frame() for env in source])
        for row in (1, 0):  # each at its own time
            (history.begin if begins else history.add)(np.array([row]), frames[row][None])
        for row, seen in enumerate(history.observations(np.arange(2))):
            wanted = [theirs[row][back[0] - age] for age in back]
            np.testing.assert_array_equal(seen, np.concatenate(wanted))


def test_bad_offsets_are_a_user_error_and_without_any_frames_come_in_a_row():
    for text in ("", "1", "-3", "0,-3,-3", "0,x", "0,--3", "0,-256"):
        with pytest.raises(UserError, match="--frames"):
            parse_offsets(text)
    spec = EnvSpec("toy", (6, 4, 4), 3, ("A",), 1, {})
    assert spec.steps_back == (2, 1, 0) and spec.channels == 2
