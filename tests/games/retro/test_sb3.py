"""Stable-Baselines3 takes the environment as it is."""

import pytest

from retro_agents.games.retro.make import make_env

pytest.importorskip("stable_baselines3")


def test_passes_stable_baselines3s_check_and_trains_ppo(bramble):
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_checker import check_env

    level, config = bramble
    env = make_env(level, config)
    check_env(env)
    model = PPO("CnnPolicy", env, n_steps=50, batch_size=25, n_epochs=1, device="cpu")
    model.learn(100)
    assert model.num_timesteps == 100
    env.close()
