import re

import numpy as np
import pytest
import torch

import ppo2.train
from ppo2.train import parse, resolve, run
from ppo2.training import Training
from retro_agents.contest.match.agent import Agent, make_config
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import complete_checkpoints, step_of
from retro_agents.nets.actor_critic import make_actor_critic
from retro_agents.run.checkpoint import latest_checkpoint
from retro_agents.run.config import flat, replaced, to_dict
from retro_agents.run.metrics import read_columns
from tests.agents.tiny import tiny, train
from tests.conftest import LENGTH, Corridor
from tests.runs import ROOT


class Paid(Corridor):
    """Rewards of the contest's size, as a preset scales them."""

    def __init__(self, num_envs, *, scale):
        super().__init__(num_envs)
        self.scale = 10_000.0 / LENGTH * scale

    def step_wait(self, part=slice(None)):
        obs, rewards, *others = super().step_wait(part)
        return obs, self.scale * rewards, *others


@pytest.mark.parametrize(
    ("preset", "follows"),
    [("contest", True), ("pretrain", True), ("published", False)],
)
def test_critic_follows_returns_of_the_contests_size(tmp_path, preset, follows):
    names = ("gamma", "lam", "clip", "entropy_weight", "normalise_returns")
    own = flat(to_dict(parse(["--preset", preset])))
    flags = "--timesteps 2560 --num-envs 4 --rollout-steps 32 --epochs 4 --learning-rate 1e-3"
    config = tiny("ppo2", *flags.split(), "--hidden", 32, "--checkpoint-every", 0)
    config = replaced(config, **{name: own[name] for name in names})
    run(Paid(4, scale=own["reward_scale"]), config, tmp_path / "run")
    explained = read_columns(tmp_path / "run/metrics.csv")["explained_variance"]
    assert (explained[-5:].mean() > 0.8) == follows


def test_exploring_agent_draws_from_its_policy():
    torch.manual_seed(0)
    agent = Training(tiny("ppo2"), 1).agent
    obs = np.zeros((7000, 4, 36, 36), np.uint8)
    counts = np.bincount(agent.act(obs, play="draw"), minlength=7)
    policy = agent.scores(torch.from_numpy(obs[:1])).softmax(1)[0].detach().numpy()
    assert (np.abs(counts - 7000 * policy) < 150).all()
    assert len(set(agent.act(obs, play="best").tolist())) == 1


def test_a_contest_keeps_the_last_checkpoint_alone(tmp_path):
    train("ppo2", tmp_path, "--num-checkpoints", "2")
    agent = Agent("ppo2", str(latest_checkpoint(tmp_path)))
    config = make_config(agent, timesteps=100, seed=0, run_dir=tmp_path)
    assert Training(config, 1).checkpoint_every == 0


def test_sequences_of_whole_rollouts_need_a_number_of_environments():
    flags = ["--recurrent", "lstm", "--sequence-steps", "6", "--rollout-steps", "6"]
    for count, said in ((0, "need a number of --num-envs"), (3, "num_envs")):
        with pytest.raises(UserError, match=said):
            tiny("ppo2", *flags, "--num-envs", count)
    tiny("ppo2", *flags, "--num-envs", 0, "--minibatches", 1)


def test_commands_with_torchrun_share_their_environments():
    texts = (ROOT / "docs/agents/ppo2.md").read_text(), ppo2.train.__doc__
    for text in texts:
        ((processes, flags),) = re.findall(r"torchrun .* (\d+) -m ppo2.train (.*)", text)
        config = resolve(parse(flags.split())).run
        assert config.num_envs % int(processes) == 0


def test_one_environment_per_level_plays_it_always():
    resolved = resolve(tiny("ppo2", "--num-envs", 0, "--levels", "bramble-test")).run
    assert (resolved.num_envs, resolved.rotate_every) == (11, 0)


def test_checkpoints_are_evenly_spread_and_stay(tmp_path):
    flags, spread = ["--num-checkpoints", "4", "--timesteps"], (24, 48, 72, 96)
    train("ppo2", tmp_path, *flags, "96")
    assert [step_of(path) for path in complete_checkpoints(tmp_path / "checkpoints")] == [*spread]
    train("ppo2", tmp_path, *flags, "192", "--resume")
    steps = [step_of(path) for path in complete_checkpoints(tmp_path / "checkpoints")]
    assert steps == [*spread, 144, 192]


def test_the_return_of_the_last_episodes_is_logged(tmp_path):
    train("ppo2", tmp_path, "--timesteps", "240")
    rows, episodes = (read_columns(tmp_path / name) for name in ("metrics.csv", "episodes.csv"))
    last = episodes["r"][episodes["step"] <= rows["step"][-1]][-100:]
    assert rows["mean_return"][-1] == pytest.approx(last.mean())


def test_a_recurrent_net_learns_from_whole_rollouts(tmp_path):
    flags = "--recurrent gru --sequence-steps 6 --num-envs 4 --recurrent-hidden 8 --timesteps 72"
    train("ppo2", tmp_path, *flags.split(), envs=Corridor(4))
    assert read_columns(tmp_path / "metrics.csv")["updates"][-1] == 3


def ablations():
    """Flags of each row of the table in docs/agents/ppo2.md."""
    text = (ROOT / "docs/agents/ppo2.md").read_text().partition("| without | flags |")[2]
    text = text.partition("\n\n")[0]
    return [flags for row in text.splitlines() for flags in re.findall(r"`(--[^`]+)`", row)]


@pytest.mark.parametrize("flags", ablations())
def test_the_competitions_preset_without_a_part_makes_a_run(flags):
    whole = flat(to_dict(parse(["--preset", "procgen-competition"])))
    config = parse(["--preset", "procgen-competition", *flags.split()])
    changed = {name for name, value in flat(to_dict(config)).items() if value != whole[name]}
    named = re.findall(r"--(?:no-)?([a-z-]+)", flags)
    assert changed == {name.replace("-", "_") for name in named}
    make_actor_critic(config)


@pytest.mark.parametrize("flags", [[], ["--rnd", "0.2"]])
def test_a_run_keeps_the_value_function_of_its_bonus(tmp_path, flags):
    train("ppo2", tmp_path, "--rnd", "0.1", "--rnd-values", "two")
    with pytest.raises(UserError, match="a value function of its own"):
        train("ppo2", tmp_path, "--resume", "--timesteps", "90", *flags)
