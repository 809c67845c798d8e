"""Who plays."""

import random
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path
from unittest.mock import Mock

import gymnasium
import numpy as np
import pytest
import torch

from jerk.agent import JerkAgent
from jerk.config import JerkConfig
from ppo2.agent import PPO2Agent
from ppo2.config import PPO2Config
from retro_agents.contest.match.agent import Agent, make_config, resolve
from retro_agents.contest.player import play, play_function
from retro_agents.contest.wire.protocol import TimestepTimeoutError, WallClockTimeoutError
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import latest_checkpoint, load_agent
from retro_agents.run.config import replaced
from tests.agents.tiny import untrained

PLAYER = "retro_agents.contest.player"


@pytest.fixture
def saved(tmp_path):
    """An untrained agent of each package: its checkpoint."""
    untrained("ppo2", sight_every=100).save(tmp_path / "ppo2")
    untrained("rainbow", init_encoder="elsewhere").save(tmp_path / "rainbow")
    JerkAgent(replaced(JerkConfig(), policy="elsewhere", record=True)).save(tmp_path / "jerk")
    return {name: str(latest_checkpoint(tmp_path / name)) for name in ("ppo2", "rainbow", "jerk")}


def test_checkpoint_of_another_agent_does_not_play_under_a_wrong_name(saved):
    for name in ("es", "rainbow"):
        with pytest.raises(UserError, match="give --agent ppo2"):
            resolve(Agent(name, saved["ppo2"], "frozen"))
    resolve(Agent("ppo2", saved["ppo2"], "frozen"))
    (Path(saved["ppo2"]) / "meta.json").write_text('{"agent":')
    with pytest.raises(UserError, match=r"meta\.json is damaged"):
        resolve(Agent("ppo2", saved["ppo2"], "frozen"))


def config_of(name, checkpoint, *flags):
    agent = Agent(name, checkpoint, flags=flags)
    return make_config(agent, timesteps=1, seed=0, run_dir=Path())


def test_how_a_checkpoints_own_run_began_and_where_it_went_is_not_repeated(saved, tmp_path):
    def config(name, *flags):
        return config_of(name, saved[name], *flags)

    assert config("ppo2").evaluation.sight_every == 0
    hidden = [config("ppo2", *flags).net.hidden for flags in ((), ("--preset", "contest"))]
    assert hidden == [16, PPO2Config().net.hidden]  # a preset's instead of the checkpoint's
    policies = [config("jerk"), config("jerk", "--policy=x")]
    assert [c.policy for c in policies] == ["", "x"] and not policies[0].record
    found = [config("rainbow"), config("rainbow", "--init-encoder=x")]
    assert [c.init_encoder for c in found] == ["", "x"]
    assert config_of("rainbow", "", "--init-encoder=x").init_encoder == "x"
    assert config("rainbow", "--init-shrink", "0.5").init_shrink == 0.5
    agent = load_agent(saved["ppo2"])
    agent.config = replaced(agent.config, track="trackio", video_every=100)
    agent.save(tmp_path / "tracked")
    own = config_of("ppo2", str(latest_checkpoint(tmp_path / "tracked")))
    assert (own.run.track, own.run.video_every) == ("", 0)


@pytest.mark.parametrize("error", [TimestepTimeoutError, WallClockTimeoutError, KeyboardInterrupt])
@pytest.mark.parametrize("checkpoint", [False, True])
def test_what_a_limit_ends_leaves_its_last_checkpoint(tmp_path, monkeypatch, checkpoint, error):
    def run(envs, config, run_dir, init):
        if checkpoint:
            untrained("ppo2").save(Path(run_dir) / "checkpoints")
        raise error("over")

    monkeypatch.setattr("ppo2.train.run", run)
    monkeypatch.setattr(f"{PLAYER}.RemoteVectorEnv", lambda *_, **__: BytesIO())
    stops = error is KeyboardInterrupt
    said = "what was learned" if checkpoint else "^$"
    with pytest.raises(error, match=said) if stops else nullcontext():
        play(Agent("ppo2", device="cpu"), tmp_path, level="", timesteps=9, seed=0, run_dir=tmp_path)
    assert (tmp_path / "agent").is_dir() == checkpoint
    assert not (tmp_path / "training" / "checkpoints").exists()
    if checkpoint:
        assert load_agent(tmp_path / "agent").config.net.hidden == 16


def test_an_agent_that_cannot_be_saved_leaves_its_checkpoints(tmp_path, monkeypatch):
    def run(envs, config, run_dir, init):
        untrained("ppo2").save(Path(run_dir) / "checkpoints")
        monkeypatch.setattr(PPO2Agent, "save", full)
        raise KeyboardInterrupt("over")

    def full(*_):
        raise UserError("no space left")

    monkeypatch.setattr("ppo2.train.run", run)
    monkeypatch.setattr(f"{PLAYER}.RemoteVectorEnv", lambda *_, **__: BytesIO())
    with pytest.raises(KeyboardInterrupt, match=r"learned is in .*checkpoints"):
        play(Agent("ppo2", device="cpu"), tmp_path, level="", timesteps=9, seed=0, run_dir=tmp_path)
    assert load_agent(tmp_path / "training").config.net.hidden == 16


def test_a_function_whose_module_cannot_be_imported_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("import nowhere_at_all\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"broken\.py cannot be imported: ModuleNotFoundError"):
        resolve(Agent("broken:play"))


def test_a_users_function_draws_by_the_contests_seed(monkeypatch):
    drawn: list[tuple[float, ...]] = []

    class Level(gymnasium.Env[np.ndarray, int]):
        action_space = gymnasium.spaces.Discrete(1000)

    def draw(env):
        numbers = (random.random(), np.random.random(), torch.rand(()), env.action_space.sample())  # noqa: NPY002
        drawn.append(tuple(map(float, numbers)))

    monkeypatch.setattr(f"{PLAYER}.RemoteEnv", lambda *_, **__: None)
    monkeypatch.setattr(f"{PLAYER}.wrap_agent", lambda *_: Level())
    for seed in (3, 3, 2**40):
        play_function(draw, Path(), level="level", seed=seed)
    assert drawn[0] == drawn[1]
    assert not {*drawn[0]} & {*drawn[2]}


def test_a_player_that_does_not_learn_draws_by_the_contests_seed(tmp_path, monkeypatch):
    loads = Mock(side_effect=TimestepTimeoutError("over"))
    monkeypatch.setattr(f"{PLAYER}.load_policy", loads)
    play(Agent("random"), tmp_path, level="", timesteps=9, seed=5, run_dir=tmp_path)
    loads.assert_called_once_with("random", seed=5, device="auto")
