from types import SimpleNamespace

import pytest
import torch

import rainbow.train
import rainbow.training
import sac.train
import sac.training
from rainbow.config import RainbowConfig
from retro_agents.experience.off_policy import OffPolicy, make_replay
from retro_agents.ground.errors import UserError
from retro_agents.run.config import replaced
from retro_agents.run.metrics import read_columns
from tests.rainbow.test_train import QUICK as RAINBOW
from tests.sac.test_train import QUICK as SAC

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


@pytest.mark.parametrize(
    ("agent", "quick"), [(rainbow, RAINBOW), (sac, SAC)], ids=["rainbow", "sac"]
)
def test_new_run_starts_from_weights_and_seeded_replay(corridor, tmp_path, agent, quick):
    source = agent.train.run(corridor(2), quick, tmp_path / "source")
    config = replaced(quick, num_envs=1, init_replay=150)
    training = agent.training.Training(config, 1)
    training.start_from(tmp_path / "source")
    assert 140 <= training.seeded <= 150
    for key, value in source.net.state_dict().items():
        assert torch.equal(value, training.agent.net.state_dict()[key])
        assert torch.equal(value, training.learner.target.state_dict()[key])
    assert training.updates_due() == 0 and training.seeded > config.learning_starts
    agent.train.run(corridor(1), config, tmp_path / "new", init=tmp_path / "source")
    updates = read_columns(tmp_path / "new/metrics.csv")["updates"]
    assert updates[0] == 12  # 50 steps: the seed counts as the steps before learning starts


def test_a_replay_that_no_memory_could_hold_is_one_line():
    with pytest.raises(UserError, match="give a smaller --replay-size"):
        make_replay(replaced(CONFIG, replay_size=10**18), 2)


def test_a_replay_that_is_too_short_is_one_line():
    with pytest.raises(UserError, match="--replay-size or fewer --num-envs"):
        make_replay(CONFIG, 200)
