import numpy as np
import torch

from retro_agents.experience.episodes import Episode, write_episodes
from retro_agents.experience.replay import Replay
from retro_agents.run.checkpoint import load_checkpoint
from sac.training import Training
from tests.agents.tiny import tiny, train
from tests.conftest import Corridor


def test_recorded_episodes_seed_the_replay(tmp_path):
    config = tiny("sac")
    names = config.env.spec().action_names
    frames = np.zeros((9, 1, 36, 36), np.uint8)
    episode = Episode("level", np.zeros(8, np.uint8), np.ones(8), True, names, 4, frames)
    folder = write_episodes(tmp_path, [episode] * 3)
    training = Training(config, 2)
    before = {name: value.clone() for name, value in training.agent.net.state_dict().items()}
    training.start_from(folder)
    assert training.seeded == 27
    assert all(torch.equal(v, training.agent.net.state_dict()[k]) for k, v in before.items())


def test_a_run_goes_on_in_new_episodes_where_environments_save_no_states(tmp_path, monkeypatch):
    cut = []
    monkeypatch.setattr(Replay, "cut", lambda _, rings: cut.append(rings.tolist()))

    def envs():
        made = Corridor(2)
        made.saves_states = False  # as a contest's
        return made

    train("sac", tmp_path, envs=envs())
    train("sac", tmp_path, "--resume", "--timesteps", "90", envs=envs())
    assert load_checkpoint(tmp_path).counters["env_steps"] == 90
    assert cut[-1] == [0, 1]  # no transition leads from an old episode to a new one


def test_learning_may_start_at_once(tmp_path):
    flags = ["--learning-starts", "0", "--n-step", "10", "--timesteps", "40", "--update-every", "4"]
    train("sac", tmp_path, *flags)
    assert load_checkpoint(tmp_path).counters["updates"] == 9
