from types import SimpleNamespace

import pytest

from experience.off_policy import OffPolicy, make_replay
from experiment.config import replaced
from experiment.errors import UserError
from rainbow.config import RainbowConfig

CONFIG = replaced(RainbowConfig(), replay_size=200, learning_starts=100, update_every=4)


def test_updates_are_due_once_there_is_enough_to_draw_from():
    run = OffPolicy(CONFIG, 1)
    run.env_steps = 500
    assert run.updates_due() == 0  # the replay is empty

    run.replay.tree = SimpleNamespace(total=1.0)
    due = []
    for run.env_steps in (0, 100, 103, 108):
        due.append(run.updates_due())
    assert due == [0, 0, 0, 2]
    run.env_steps, run.seeded = 8, 100
    assert run.updates_due() == 2


def test_a_multiple_is_passed_once():
    run = OffPolicy(CONFIG, 3)
    passed = []
    for run.env_steps in range(0, 31, 3):
        if run.passes(10):
            passed.append(run.env_steps)
    assert passed == [12, 21, 30] and not run.passes(0)


def test_a_replay_that_is_too_short_is_one_line():
    with pytest.raises(UserError, match="--replay-size or fewer --num-envs"):
        make_replay(CONFIG, 200)
