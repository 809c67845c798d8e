import numpy as np

from jerk.memory import Runs
from jerk.replay import as_replay
from rainbow.memory import Replay
from tests.jerk.test_memory import run_of, three_runs


def test_a_rainbow_draws_the_runs_as_it_would_have_stored_them():
    arrays = as_replay(three_runs(), scale=0.5, backtracking=True)
    replay = Replay(
        100, 1, frame_shape=(1, 3, 3), frame_stack=4, n_step=3, gamma=0.5, alpha=0.5, epsilon=0.1
    )
    assert replay.seed(arrays, 100) == 7 + 10 + 5
    drawn = np.flatnonzero(replay.tree.leaves)
    batch = replay.sample(2000, beta=0.4, rng=np.random.default_rng(0))
    steps = {}
    for row in range(2000):
        now, then = batch.obs[row, :, 0, 0].tolist(), batch.next_obs[row, :, 0, 0].tolist()
        steps[now[-1]] = (now, int(batch.actions[row]), float(batch.returns[row]), then[-1],
                          float(batch.discounts[row]))  # fmt: skip
    assert len(steps) == len(drawn)
    assert steps[56] == ([53, 54, 55, 56], 6, 0.25 * 5.0, 59, 0.0)  # three steps before the end
    assert steps[58] == ([55, 56, 57, 58], 1, 5.0, 59, 0.0)
    assert steps[4] == ([1, 2, 3, 4], 4, 0.5 * 2.5, 6, 0.25)  # cut: it goes on counting
    assert set(steps) == {*range(50, 59), *range(6), 103}  # the oldest stacks may reach back


def test_replay_rewards_are_the_increase_of_the_furthest_point():
    runs = Runs(1)
    run = run_of(5)
    run.rewards[:] = [2.0, -1.0, 0.5, 2.0, 0.0]
    runs.add("one", run)
    assert as_replay(runs, scale=1.0, backtracking=True)["rewards"].tolist() == [2, 0, 0, 1.5, 0, 0]
    assert as_replay(runs, scale=2.0, backtracking=False)["rewards"].tolist() == [4, -2, 1, 4, 0, 0]
