"""Stable-Baselines3's PPO learns from the same settings, net and environments as PPO2."""

import numpy as np
import pytest
import torch

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO

from lab.benchmarks import sb3_ppo
from ppo2.agent import load
from ppo2.config import PPO2Config
from ppo2.train import parse
from ppo2.training import Training
from retro_agents.contract.sb3 import SB3VecEnv
from retro_agents.experience.return_scale import ReturnScale
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.config import flat, replaced, to_dict
from retro_agents.run.distributed import Group
from retro_agents.run.metrics import read_columns

ENVS, STEPS = 8, 64
SHARED = {  # used by the same code: levels, environments, net, when to stop, where files go
    "levels", "timesteps", "num_envs", "rotate_every", "run_dir", "init",
    "seed", "checkpoint_every", "device", "torch_threads", "actions", "frame_skip",
    "stick_probability", "episode_steps", "backtracking", "reward_scale", "image_height",
    "image_width", "colour", "frame_stack", "backend", "scenario", "encoder", "widths", "pool",
    "hidden", "track", "track_with", "initialisation",
}  # fmt: skip
TOLD = {
    "rollout_steps", "minibatches", "epochs", "gamma", "lam", "learning_rate", "adam_epsilon",
    "clip", "value_clip", "value_weight", "entropy_weight", "gradient_norm", "normalise",
    "normalise_returns", "return_gamma",
}  # fmt: skip
MEANINGLESS = {  # without what is lacking or refused, or of speed only
    "precision", "compile", "cuda_graphs", "act_parts", "microbatches",
    "recurrent_hidden", "sequence_steps",
    "augment_share", "kl_aim", "rnd_kind", "rnd_values", "rnd_gamma", "sigma0",
    "self_imitation_batches", "self_imitation_size",
    "evaluate_episodes", "test_levels", "sight_episodes", "play",
}  # fmt: skip


def small(**changes):
    """The fast preset, one step of Adam per rollout, in the corridor."""
    config = parse(["--preset", "fast"])
    config = replaced(
        config, precision="fp32", num_envs=ENVS, rollout_steps=STEPS, minibatches=1, epochs=1,
        image_height=36, image_width=36, reward_scale=1.0, device="cpu", torch_threads=1,
    )  # fmt: skip
    return replaced(config, **changes)


def make_model(config, corridor):
    envs = SB3VecEnv(corridor(config.run.num_envs), seed=0)
    return PPO("CnnPolicy", envs, device="cpu", **sb3_ppo.settings(config))


def test_every_setting_is_shared_told_refused_or_meaningless():
    groups = [SHARED, TOLD, set(sb3_ppo.LACKING), MEANINGLESS]
    fields = set(flat(to_dict(PPO2Config())))
    assert set.union(*groups) == fields
    assert sum(map(len, groups)) == len(fields)


def test_what_one_update_does_not_show_is_told_too():
    config = small(epochs=3, minibatches=4, clip=0.3, entropy_weight=0.02, seed=7)
    told = sb3_ppo.settings(config)
    assert told["batch_size"] * 4 == ENVS * STEPS
    assert (told["n_epochs"], told["ent_coef"], told["seed"]) == (3, 0.02, 7)
    assert told["clip_range"] == told["clip_range_vf"] == 0.3


@pytest.mark.parametrize(
    "lacking",
    [{"rnd": 0.1}, {"resume": True}, {"encoder": "impala"}, {"initialisation": "xavier"}],
)
def test_what_it_lacks_is_refused(lacking):
    with pytest.raises(UserError, match="Stable-Baselines3"):
        sb3_ppo.settings(small(**lacking))


def fill(model, training, corridor):
    """One rollout of random actions, the same for both -> the observations after it."""
    envs, buffer = corridor(ENVS), model.rollout_buffer
    rng = np.random.default_rng(0)
    obs, _ = envs.reset()
    for t in range(STEPS):
        actions = rng.choice([1, 6], size=ENVS, p=[0.7, 0.3])
        training.collector.act(obs, slice(0, ENVS))
        with torch.no_grad():
            values, logp, _ = model.policy.evaluate_actions(
                torch.from_numpy(obs), torch.from_numpy(actions)
            )
        rollout = training.collector.rollout
        assert torch.allclose(rollout.values[t], values.flatten(), atol=1e-5)
        rollout.actions[t], rollout.logp[t] = torch.from_numpy(actions), logp
        starts = training.collector.starts.astype(np.float32)
        before = obs
        obs, rewards, terminated, truncated, infos = envs.step(actions)
        everyone = slice(0, ENVS)
        training.collector.add(
            (rewards, terminated, truncated, infos), levels=envs.levels, part=everyone
        )
        buffer.add(before, actions[:, None], rewards, starts, values, logp)
        assert not truncated.any()
    return obs


def test_one_update_has_the_gradients_of_ours(corridor):
    """Weights, values, advantages, loss weights and clipped gradients in one."""
    config = small(normalise_returns=False)  # both are given the corridor's rewards
    training = Training(config, ENVS)
    model = make_model(config, corridor)
    net = training.agent.net
    for theirs, ours in sb3_ppo.pairs(model, net):
        theirs.load_state_dict(ours.state_dict())
    model.learn(0)  # sets up its logger
    obs = fill(model, training, corridor)
    dones = training.collector.starts.copy()
    with torch.no_grad():
        last = model.policy.predict_values(torch.from_numpy(obs))
    model.rollout_buffer.compute_returns_and_advantage(last_values=last, dones=dones)
    training.learn(obs)
    model.train()
    for theirs, ours in sb3_ppo.pairs(model, net):
        for one, other in zip(theirs.parameters(), ours.parameters(), strict=True):
            assert one.grad is not None and other.grad is not None
            apart = (one.grad - other.grad).norm() / other.grad.norm()
            assert apart < 0.005  # its deviation of advantages is of N−1 rows
    settings = model.policy.optimizer.param_groups[0]
    assert (settings["lr"], settings["eps"]) == (config.learning_rate, config.adam_epsilon)


def test_rewards_are_scaled_as_ours(corridor):
    """At the last step of a rollout both know the same returns."""
    config = replaced(small(), return_gamma=0.9)
    envs = sb3_ppo.wrapped(corridor(ENVS), config)
    plain = SB3VecEnv(corridor(ENVS), seed=0)
    envs.reset(), plain.reset()
    rng = np.random.default_rng(0)
    rewards, ended = np.zeros((2, STEPS, ENVS))
    for t in range(STEPS):
        actions = rng.choice([1, 6], size=ENVS, p=[0.7, 0.3])
        obs, scaled, _, _ = envs.step(actions)
        same, rewards[t], ended[t], _ = plain.step(actions)
        assert np.array_equal(obs, same)
    ours = ReturnScale(ENVS, gamma=0.9)(rewards, ended.astype(bool), Group())
    assert rewards[-1].any()
    np.testing.assert_allclose(scaled, ours[-1], rtol=1e-3)


def test_initial_weights_are_alike(corridor):
    config = small()
    model, training = make_model(config, corridor), Training(config, ENVS)
    for theirs, ours in sb3_ppo.pairs(model, training.agent.net):
        for one, other in zip(theirs.parameters(), ours.parameters(), strict=True):
            assert one.shape == other.shape
            assert one.norm().item() == pytest.approx(other.norm().item(), rel=1e-4)


def test_run_stops_at_its_last_step_and_plays_as_ppo2(corridor, tmp_path):
    steps = ENVS * (STEPS + 10)
    agent = sb3_ppo.run(corridor(ENVS), small(timesteps=steps), tmp_path / "run")
    saved = load_checkpoint(tmp_path / "run")
    played = read_columns(tmp_path / "run" / "episodes.csv")["step"].max()
    assert steps - ENVS < read_columns(tmp_path / "run" / "metrics.csv")["step"].max() <= steps
    assert ENVS * STEPS < played <= steps
    images = torch.from_numpy(corridor(ENVS).reset()[0])
    loaded = load(saved.folder)
    assert torch.equal(loaded.scores(images), agent.scores(images))


def test_init_gives_the_weights(corridor, tmp_path):
    config = small(timesteps=0)
    first = sb3_ppo.run(corridor(ENVS), config, tmp_path / "first")
    other = replaced(config, seed=1)
    second = sb3_ppo.run(corridor(ENVS), other, tmp_path / "second", init=tmp_path / "first")
    images = torch.from_numpy(corridor(ENVS).reset()[0])
    assert torch.equal(first.scores(images), second.scores(images))
