import numpy as np
import pytest

from contest.references import ACTIONS, JUMP, REFERENCES, RIGHT, RunAndJump, reference
from retro_env import wrappers

OBS = np.zeros((3, 4, 84, 84), np.uint8)


def slow_run_and_jump(draws: list[np.ndarray], *, probability: float, hold: int) -> np.ndarray:
    """One environment after the other, step by step -> actions [T,N]."""
    actions = np.zeros((len(draws), len(draws[0])), np.int64)
    for env in range(len(draws[0])):
        left = 0
        for t, draw in enumerate(draws):
            if left == 0 and draw[env] < probability:
                left = hold
            actions[t, env] = JUMP if left > 0 else RIGHT
            left = max(left - 1, 0)
    return actions


def test_the_actions_are_those_of_the_environment() -> None:
    assert len(wrappers.SEVEN) == ACTIONS
    assert wrappers.SEVEN[RIGHT] == "RIGHT"
    assert wrappers.SEVEN[JUMP] == "B"


@pytest.mark.parametrize("name", REFERENCES)
def test_every_reference_acts_in_range_and_by_its_seed(name: str) -> None:
    first, again = reference(name, seed=3), reference(name, seed=3)
    for _ in range(50):
        actions = first.act(OBS)
        assert actions.shape == (3,)
        assert actions.dtype == np.int64
        assert ((actions >= 0) & (actions < ACTIONS)).all()
        assert (actions == again.act(OBS)).all()


def test_an_unknown_reference_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        reference("nobody")


def test_random_play_takes_every_action_as_often() -> None:
    actions = np.concatenate([reference("random", seed=1).act(np.zeros((70_000, 1)))])
    assert (np.abs(np.bincount(actions) - 10_000) < 500).all()


def test_run_and_jump_equals_the_slow_one() -> None:
    rng = np.random.default_rng(7)
    draws = [rng.random(3) for _ in range(300)]
    policy = RunAndJump(seed=7, probability=0.2, hold=3)
    actions = np.array([policy.act(OBS) for _ in range(300)])
    assert (actions == slow_run_and_jump(draws, probability=0.2, hold=3)).all()
    assert {RIGHT, JUMP} == set(actions.flat)
