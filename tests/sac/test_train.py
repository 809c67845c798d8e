import numpy as np
import pytest
import torch

from retro_agents.experience.episodes import Episode, write_episodes
from retro_agents.experience.replay import Replay
from retro_agents.games.families import make_for
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.config import replaced
from retro_agents.run.metrics import read_columns
from sac.config import SACConfig
from sac.train import parse, run
from sac.training import Training
from tests.runs import play

QUICK = replaced(
    SACConfig(),
    timesteps=200,
    num_envs=2,
    device="cpu",
    torch_threads=1,
    image_height=36,
    image_width=36,
    encoder="data-efficient",
    hidden=64,
    replay_size=5_000,
    learning_starts=50,
    batch_size=32,
    log_every=50,
    checkpoint_every=100,
    learning_rate=1e-3,
    gamma=0.8,  # at 0.99 waiting a step costs too little to tell
    temperature=0.1,
    temperature_rate=1e-3,
    entropy_target=0.3,
    target_rate=0.02,
)


def test_sac_learns_the_corridor(corridor, tmp_path):
    config = replaced(
        QUICK,
        timesteps=4000,
        num_envs=4,
        update_every=2,
        checkpoint_every=0,
        n_step=3,
        prioritised=True,
    )
    agent = run(corridor(4), config, tmp_path / "run")
    assert play(agent, corridor(1)) == 8.0  # the end; random play falls into the hole before 4


def test_recorded_episodes_seed_the_replay(tmp_path):
    names = QUICK.env.spec().action_names
    frames = np.zeros((9, 1, 36, 36), np.uint8)
    episode = Episode("level", np.zeros(8, np.uint8), np.ones(8), True, names, 4, frames)
    folder = write_episodes(tmp_path, [episode] * 3)
    training = Training(QUICK, 2)
    before = {name: value.clone() for name, value in training.agent.net.state_dict().items()}
    training.start_from(folder)
    assert training.seeded == 27
    assert all(torch.equal(v, training.agent.net.state_dict()[k]) for k, v in before.items())


@pytest.mark.parametrize(
    ("change", "give"),
    [({"n_step": 3}, "--n-step 1"), ({"reward_scale": 0.5}, "--reward-scale 1.0")],
)
def test_a_replay_is_not_gone_on_with_where_it_would_mean_something_else(
    corridor, tmp_path, change, give
):
    run(corridor(2), QUICK, tmp_path / "run")
    with pytest.raises(UserError, match=give):
        run(corridor(2), replaced(QUICK, resume=True, **change), tmp_path / "run")


def test_a_run_goes_on_in_new_episodes_where_environments_save_no_states(
    corridor, tmp_path, monkeypatch
):
    cut = []
    monkeypatch.setattr(Replay, "cut", lambda _, rings: cut.append(rings.tolist()))

    def envs():
        made = corridor(2)
        made.saves_states = False  # as a contest's
        return made

    run(envs(), replaced(QUICK, timesteps=100), tmp_path)
    run(envs(), replaced(QUICK, resume=True), tmp_path)
    assert load_checkpoint(tmp_path).counters["env_steps"] == 200
    assert cut[-1] == [0, 1]  # no transition leads from an old episode to a new one


def test_learning_may_start_at_once(corridor, tmp_path):
    config = replaced(QUICK, learning_starts=0, n_step=10, timesteps=40)
    run(corridor(2), config, tmp_path / "run")
    assert load_checkpoint(tmp_path / "run").counters["updates"] == 9


def test_sac_trains_on_procgen_and_goes_on(tmp_path):
    pytest.importorskip("envpool")
    flags = [
        *("--preset", "procgen", "--levels", "procgen:coinrun", "--num-envs", "4"),
        *("--encoder", "nature", "--widths", "4,4,4", "--hidden", "16", "--timesteps", "200"),
        *("--learning-starts", "100", "--replay-size", "600", "--log-every", "100"),
        *("--batch-size", "8", "--checkpoint-every", "100", "--device", "cpu"),
        *("--update-every", "32"),
    ]
    config = parse([*flags, "--run-dir", str(tmp_path)])
    run(make_for(config), config, tmp_path)
    config = parse(["--run-dir", str(tmp_path), "--resume", "--timesteps", "400"])
    run(make_for(config), config, tmp_path)
    assert read_columns(tmp_path / "metrics.csv")["updates"][-1] == 9
