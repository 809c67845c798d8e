import numpy as np
import pytest

from retro_agents.games.retro.config import SEVEN
from retro_agents.games.retro.references import ACTIONS, JUMP, REFERENCES, RIGHT, RunAndJump

OBS = np.zeros((3, 4, 84, 84), np.uint8)


@pytest.mark.parametrize("name", REFERENCES)
def test_every_reference_acts_in_range_and_by_its_seed(name):
    assert (len(SEVEN), SEVEN[RIGHT], SEVEN[JUMP]) == (ACTIONS, "RIGHT", "B")
    first, again, other = map(REFERENCES[name], (3, 3, 4))
    differs = False
    for _ in range(50):
        actions = first.act(OBS)
        differs |= bool((actions != other.act(OBS)).any())
        assert actions.shape == (3,) and actions.dtype == np.int64
        assert ((actions >= 0) & (actions < ACTIONS)).all()
        assert (actions == again.act(OBS)).all()
    assert differs == (name == "random")


def test_random_play_takes_every_action_as_often():
    actions = REFERENCES["random"](1).act(np.zeros((70_000, 1), np.uint8))
    assert (np.abs(np.bincount(actions) - 10_000) < 500).all()


def test_run_and_jump_has_its_rhythm_anew_with_every_episode():
    policy, other = RunAndJump(), RunAndJump(period=4, hold=1)
    actions = np.array([policy.act(OBS) for _ in range(63)])
    assert all((row == ([JUMP] * 5 + [RIGHT] * 16) * 3).all() for row in actions.T)
    assert [int(other.act(OBS)[0]) for _ in range(8)] == [JUMP, RIGHT, RIGHT, RIGHT] * 2
    policy, starts = RunAndJump(period=4, hold=1), np.array([False, True, False])
    for _ in range(2):
        policy.act(OBS)
    assert policy.act(OBS, starts=starts).tolist() == [RIGHT, JUMP, RIGHT]
    assert [policy.act(OBS).tolist() for _ in range(2)] == [[RIGHT] * 3, [JUMP, RIGHT, JUMP]]
