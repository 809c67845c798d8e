import re
import sys

import numpy as np
import pytest
import torch

import ppo2.train
from ppo2.config import PPO2Config
from ppo2.train import parse, resolve, run
from ppo2.training import Training
from retro_agents.contest.match.agent import Agent, make_config
from retro_agents.ground.errors import UserError
from retro_agents.nets.actor_critic import make_actor_critic
from retro_agents.run.checkpoint import latest_checkpoint
from retro_agents.run.config import flat, replaced, to_dict
from retro_agents.run.metrics import read_columns
from tests.conftest import LENGTH, Corridor
from tests.runs import ROOT, assert_same_run, play

QUICK = replaced(
    PPO2Config(),
    timesteps=240,
    num_envs=2,
    device="cpu",
    torch_threads=1,
    image_height=36,
    image_width=36,
    hidden=32,
    encoder="data-efficient",
    rollout_steps=16,
    minibatches=2,
    epochs=2,
    checkpoint_every=100,
    learning_rate=1e-3,
    gamma=0.9,
)
LEVEL = "BrambleDash-Genesis-v0:BrambleWood.Act1"


@pytest.mark.parametrize(
    "flags",
    [{}, {"recurrent": "gru", "recurrent_hidden": 32, "sequence_steps": 8}],
    ids=["plain", "recurrent"],
)
def test_ppo2_learns_the_corridor(corridor, tmp_path, flags):
    config = replaced(
        QUICK, timesteps=6400, num_envs=4, rollout_steps=32, epochs=4, checkpoint_every=0, **flags
    )
    agent = run(corridor(4), config, tmp_path / "run")
    assert play(agent, corridor(1)) == 8.0  # the end; random play falls into the hole before 4
    explained = read_columns(tmp_path / "run/metrics.csv")["explained_variance"]
    assert explained[-10:].mean() > 0.5 > explained[:5].mean()


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
    [("contest", True), ("fast", True), ("joint", True), ("pretrain", True), ("published", False)],
)
def test_critic_follows_returns_of_the_contests_size(tmp_path, preset, follows):
    names = ("gamma", "lam", "clip", "entropy_weight", "normalise_returns")
    own = flat(to_dict(parse(["--preset", preset])))
    config = replaced(QUICK, timesteps=2560, num_envs=4, rollout_steps=32, epochs=4)
    config = replaced(config, checkpoint_every=0, **{name: own[name] for name in names})
    run(Paid(4, scale=own["reward_scale"]), config, tmp_path / "run")
    explained = read_columns(tmp_path / "run/metrics.csv")["explained_variance"]
    assert (explained[-5:].mean() > 0.8) == follows


def untrained_return(corridor, seed):
    torch.manual_seed(seed)
    return play(Training(replaced(QUICK, seed=seed), 1).agent, corridor(1))


def test_untrained_nets_do_not_finish_the_corridor(corridor):
    assert np.mean([untrained_return(corridor, seed) for seed in range(3)]) < 8.0


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"normalise_returns": False},
        {"recurrent": "lstm", "recurrent_hidden": 8, "sequence_steps": 4},
        {"novelty": 0.1, "rnd": 0.1},
        {
            "kl_penalty": 0.2,
            "kl_aim": 1e-9,
            "normalise": "rollout",
            "convolution_l2": 1e-3,
            "dropout": 0.3,
            "augment": "flip,cutout",
            "rnd": 0.1,
            "rnd_kind": "impala",
        },
    ],
    ids=["plain", "unscaled", "recurrent", "curious", "penalised"],
)
def test_run_resumed_within_a_rollout_equals_an_uninterrupted_one(corridor, tmp_path, flags):
    config = replaced(QUICK, timesteps=300, **flags)
    run(corridor(2), config, tmp_path / "whole")
    run(corridor(2), replaced(config, timesteps=150), tmp_path / "parts")
    run(corridor(2), replaced(config, resume=True), tmp_path / "parts")
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


def command_line(run_dir):
    return [
        *(sys.executable, "-m", "ppo2.train", "--levels", f"{LEVEL},{LEVEL[:-1]}2"),
        *("--run-dir", str(run_dir), "--num-envs", "2", "--rotate-every", "60"),
        *("--image-height", "36", "--image-width", "36", "--hidden", "32", "--device", "cpu"),
        *("--timesteps", "400", "--rollout-steps", "20", "--checkpoint-every", "80"),
        *("--torch-threads", "1"),
    ]


def test_exploring_agent_draws_from_its_policy():
    torch.manual_seed(0)
    agent = Training(QUICK, 1).agent
    obs = np.zeros((7000, 4, 36, 36), np.uint8)
    counts = np.bincount(agent.act(obs, play="draw"), minlength=7)
    policy = agent.scores(torch.from_numpy(obs[:1])).softmax(1)[0].detach().numpy()
    assert (np.abs(counts - 7000 * policy) < 150).all()
    assert len(set(agent.act(obs, play="best").tolist())) == 1


def test_new_run_starts_from_another_runs_weights(corridor, tmp_path):
    source = run(corridor(2), QUICK, tmp_path / "source")
    training = Training(replaced(QUICK, seed=1), 1)
    training.agent.start_from(str(tmp_path / "source"))
    for key, value in source.net.state_dict().items():
        assert torch.equal(value, training.agent.net.state_dict()[key])


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"novelty": 0.1}, "no --novelty"),
        ({"rnd": 0.1}, "no --rnd"),
        ({"rollout_steps": 8}, "14 steps into a rollout of 16"),
        ({"rollout_steps": 32}, "14 steps into a rollout of 16"),
    ],
)
def test_what_a_saved_run_cannot_go_on_with_is_refused(corridor, tmp_path, flags, words):
    run(corridor(2), replaced(QUICK, timesteps=60), tmp_path)  # 16 + 14 of each
    with pytest.raises(UserError, match=words):
        run(corridor(2), replaced(QUICK, resume=True, **flags), tmp_path)


def test_other_images_are_refused_where_the_net_would_take_them(corridor, tmp_path):
    config = replaced(QUICK, encoder="impala", widths="4", pool=True, timesteps=32)
    run(corridor(2), config, tmp_path)
    with pytest.raises(UserError, match=r"other observations.*--image-height 36"):
        run(corridor(2), replaced(config, image_height=40, resume=True), tmp_path)


def test_a_contest_keeps_the_last_checkpoint_alone(corridor, tmp_path):
    run(corridor(2), replaced(QUICK, num_checkpoints=2), tmp_path)
    agent = Agent("ppo2", str(latest_checkpoint(tmp_path)))
    config = make_config(agent, timesteps=100, seed=0, run_dir=tmp_path)
    assert Training(config, 1).checkpoint_every == 0


def test_sequences_of_whole_rollouts_need_a_number_of_environments():
    flags = {"recurrent": "lstm", "sequence_steps": 16, "rollout_steps": 16, "num_envs": 0}
    with pytest.raises(UserError, match="need a number of --num-envs"):
        replaced(QUICK, minibatches=2, **flags)
    replaced(QUICK, minibatches=1, **flags)


def test_commands_with_torchrun_share_their_environments():
    texts = (ROOT / "ppo2/README.md").read_text(), ppo2.train.__doc__
    for text in texts:
        ((processes, flags),) = re.findall(r"torchrun .* (\d+) -m ppo2.train (.*)", text)
        config = resolve(parse(flags.split())).run
        assert config.num_envs % int(processes) == 0


def test_one_environment_per_level_plays_it_always():
    resolved = resolve(replaced(QUICK, num_envs=0, levels="bramble-test")).run
    assert (resolved.num_envs, resolved.rotate_every) == (11, 0)


def test_checkpoints_are_evenly_spread_and_stay(corridor, tmp_path):
    config = replaced(QUICK, num_checkpoints=4, timesteps=256, rollout_steps=16)
    run(corridor(2), config, tmp_path / "run")
    steps = [path.name for path in sorted((tmp_path / "run" / "checkpoints").glob("step-*"))]
    assert steps == [f"step-{step:09d}" for step in (64, 128, 192, 256)]
    resumed = replaced(config, resume=True, timesteps=512)
    run(corridor(2), resumed, tmp_path / "run")
    steps = [path.name for path in sorted((tmp_path / "run" / "checkpoints").glob("step-*"))]
    assert steps == [f"step-{step:09d}" for step in (64, 128, 192, 256, 384, 512)]


def test_a_predictor_of_another_kind_is_not_gone_on_with(corridor, tmp_path):
    config = replaced(QUICK, rnd=0.1, timesteps=64, rollout_steps=16)
    run(corridor(2), config, tmp_path)
    with pytest.raises(UserError, match="--rnd-kind"):
        run(corridor(2), replaced(config, resume=True, rnd_kind="impala"), tmp_path)


def test_returns_of_the_last_episodes_and_the_time_are_logged(corridor, tmp_path):
    run(corridor(2), QUICK, tmp_path)
    rows, episodes = (read_columns(tmp_path / name) for name in ("metrics.csv", "episodes.csv"))
    last = episodes["r"][episodes["step"] <= rows["step"][-1]][-100:]
    assert rows["mean_return"][-1] == pytest.approx(last.mean())
    assert (rows["min_return"][-1], rows["max_return"][-1]) == (last.min(), last.max())
    timing = read_columns(tmp_path / "timing.csv")
    assert timing["step"].tolist() == rows["step"].tolist()
    assert (np.diff(timing["seconds"]) > 0).all()


def test_a_recurrent_net_learns_from_whole_rollouts(corridor, tmp_path):
    flags = {"recurrent": "gru", "sequence_steps": 16, "rollout_steps": 16, "minibatches": 2}
    config = replaced(QUICK, num_envs=4, recurrent_hidden=8, **flags)
    run(corridor(4), config, tmp_path)
    assert read_columns(tmp_path / "metrics.csv")["updates"][-1] == 3
    with pytest.raises(UserError, match="num_envs"):
        replaced(config, num_envs=3)


def ablations():
    """Flags of each row of the table in options.md."""
    text = (ROOT / "ppo2/options.md").read_text().partition("| without | flags |")[2]
    return [flags for row in text.splitlines() for flags in re.findall(r"`(--[^`]+)`", row)]


@pytest.mark.parametrize("flags", ablations())
def test_the_competitions_preset_without_a_part_makes_a_run(flags):
    whole = flat(to_dict(parse(["--preset", "procgen-competition"])))
    config = parse(["--preset", "procgen-competition", *flags.split()])
    changed = {name for name, value in flat(to_dict(config)).items() if value != whole[name]}
    named = re.findall(r"--(?:no-)?([a-z-]+)", flags)
    assert changed == {name.replace("-", "_") for name in named}
    make_actor_critic(config)
