from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from rainbow.config import RainbowConfig
from retro_agents.experience.episodes import Episode, write_episodes
from retro_agents.experience.off_policy import OffPolicy, make_replay
from retro_agents.games.retro.config import SEVEN
from retro_agents.ground.errors import UserError
from retro_agents.run.agents import find
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.config import replaced
from retro_agents.run.metrics import read_columns
from tests.agents.tiny import tiny, train
from tests.conftest import Corridor

CONFIG = replaced(
    RainbowConfig(), replay_size=200, learning_starts=100, update_every=4, batch_size=8
)


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


def test_ended_episodes_are_counted_by_steps_and_environment():
    run, ended = OffPolicy(CONFIG, 4), {"r": 2.0, "env": 1}
    assert run.count(4, [ended]) == [(4, 1, ended)]
    assert run.count(2, [ended], first=2) == [(6, 3, ended)]


def test_learning_from_a_batch_is_one_update_and_sets_its_priorities():
    run, told = OffPolicy(CONFIG, 1), []
    sample = Mock(return_value=SimpleNamespace(indices=[3, 5]))
    run.replay = SimpleNamespace(sample=sample, update_priorities=lambda *given: told.append(given))
    run.learner = SimpleNamespace(update=lambda batch: (torch.tensor([1.0, 2.0]), {}))
    run.learn(beta=0.5)
    sample.assert_called_once_with(8, beta=0.5, rng=run.rng)
    ((indices, losses),) = told
    assert run.updates == 1 and indices == [3, 5] and losses.tolist() == [1.0, 2.0]


def test_a_replay_has_the_priorities_of_the_config():
    replay = make_replay(replaced(CONFIG, priority_alpha=0.7, priority_epsilon=0.3), 2)
    assert (replay.slots, replay.alpha, replay.epsilon) == (100, 0.7, 0.3)


def test_the_priorities_of_a_run_get_the_exponent_of_the_one_that_takes_them(trained):
    saved = load_checkpoint(trained("rainbow")[1])  # of an exponent of 0.5
    before = saved.arrays["priorities"]
    for way in ("resumed", "seeded"):
        config = tiny("rainbow", "--priority-alpha", "1")
        training = find("rainbow").part("training", "Training")(config, 2)
        if way == "resumed":
            training.restore(saved, Corridor(2))
        else:
            training.start_from(saved.folder)
        found = training.replay.tree.leaves
        assert np.isin(found.round(9), (before**2).round(9)).all()
        assert len(np.unique(found)) > 3


def test_transitions_of_another_frame_skip_are_not_taken(trained):
    training = find("rainbow").part("training", "Training")(tiny("rainbow", "--frame-skip", "6"), 2)
    with pytest.raises(UserError, match=r"frame_skip 4, and this run has 6; give --frame-skip 4"):
        training.start_from(trained("rainbow")[1])


@pytest.mark.parametrize("agent", ["rainbow", "sac"])
def test_new_run_starts_from_weights_and_seeded_replay(agent, tmp_path):
    flags = "--timesteps 200 --learning-starts 50 --replay-size 5000 --log-every 50"
    source = train(agent, tmp_path / "source", *flags.split())
    flags = f"{flags} --num-envs 1 --update-every 4 --init-replay 150 --init".split()
    flags.append(str(tmp_path / "source"))
    training = find(agent).part("training", "Training")(tiny(agent, *flags), 1)
    training.start_from(tmp_path / "source")
    assert 140 <= training.seeded <= 150
    for key, value in source.net.state_dict().items():
        assert torch.equal(value, training.agent.net.state_dict()[key])
        assert torch.equal(value, training.learner.target.state_dict()[key])
    assert training.updates_due() == 0 and training.seeded > training.config.learning_starts
    folder = tmp_path / "new"
    train(agent, folder, *flags, init=tmp_path / "source", envs=Corridor(1))
    updates = read_columns(folder / "metrics.csv")["updates"]
    assert updates[0] == 12  # 50 steps: the seed counts as the steps before learning starts


@pytest.mark.parametrize("agent", ["rainbow", "sac"])
def test_episodes_of_which_none_are_wanted_begin_nothing(agent, tmp_path):
    episode = Episode("corridor", np.ones(3, np.uint8), np.ones(3), True, SEVEN, 4)
    write_episodes(tmp_path, [episode])
    config = tiny(agent, "--init", str(tmp_path), "--init-replay", "0")
    training = find(agent).part("training", "Training")(config, 1)
    with pytest.raises(UserError, match=r"episodes without weights .* --init-replay above 0"):
        training.start_from(tmp_path)
