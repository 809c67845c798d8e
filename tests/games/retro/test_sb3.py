"""Stable-Baselines3 takes the environment as it is."""

import numpy as np
import pytest

from retro_agents.games.retro.make import make_env

sb3 = pytest.importorskip("stable_baselines3")
make_sb3_vec = pytest.importorskip("retro_agents.contract.sb3").make_sb3_vec


def test_passes_stable_baselines3s_check(bramble, closed):
    from stable_baselines3.common.env_checker import check_env

    check_env(closed(make_env(*bramble)))


def test_many_environments_are_one_of_its_own():
    """Its own statistics show the returns of the rewards, and the score is beside them."""
    envs = make_sb3_vec("retro_agents:BrambleDash/train-v0", num_envs=4, seed=0, episode_steps=20)
    model = sb3.PPO("CnnPolicy", envs, n_steps=50, batch_size=50, n_epochs=1, device="cpu")
    model.learn(200)
    episodes = list(model.ep_info_buffer)
    assert len(episodes) == 8 and {episode["l"] for episode in episodes} == {20}
    first = envs.reset()
    for _ in range(20):
        obs, _, done, infos = envs.step([1, 2, 3, 4])
    assert done.all() and obs.shape == first.shape
    assert all(info["terminal_observation"].shape == first.shape[1:] for info in infos)
    for info in infos:
        assert info["TimeLimit.truncated"]
        assert info["episode_record"]["r"] == pytest.approx(100 * info["episode"]["r"])


def test_its_evaluation_counts_their_scores_without_a_warning():
    from stable_baselines3.common.evaluation import evaluate_policy

    name = "retro_agents:BrambleDash/test-v0"
    envs = make_sb3_vec(name, num_envs=2, reward_scale=1.0, episode_steps=20)
    model = sb3.PPO("CnnPolicy", envs, n_steps=20, batch_size=20, device="cpu")
    seen: list = []
    returns, lengths = evaluate_policy(
        model,
        envs,
        n_eval_episodes=4,
        deterministic=False,
        return_episode_rewards=True,
        callback=lambda here, _: seen.append(here["info"].get("episode_record")),
    )
    assert returns == pytest.approx([record["r"] for record in seen if record])
    assert len(lengths) == 4


def test_ctrl_c_in_a_step_closes_them_and_says_so(monkeypatch):
    envs = make_sb3_vec("retro_agents:BrambleDash/train-v0", num_envs=2)
    envs.reset()

    def pressed():
        raise KeyboardInterrupt

    monkeypatch.setattr(envs.envs, "step_wait", pressed)
    with pytest.raises(KeyboardInterrupt):
        envs.step([1, 1])
    with pytest.raises(Exception, match="closed: make another"):
        envs.reset()


def test_its_wrappers_take_them(tmp_path):
    envs = make_sb3_vec("retro_agents:BrambleDash/train-v0", num_envs=2, render_mode="rgb_array")
    assert envs.has_attr("levels") and not envs.has_attr("nonsense")
    recorder = sb3.common.vec_env.VecVideoRecorder
    filmed = recorder(envs, str(tmp_path), lambda step: step == 0, video_length=3)
    filmed.reset()
    for _ in range(4):
        filmed.step(np.ones(2, int))
    filmed.close()
    assert filmed.frames_per_sec == 15
    assert [path.suffix for path in tmp_path.iterdir()] == [".mp4"]


def test_its_options_name_the_levels_of_the_next_reset_alone():
    envs = make_sb3_vec("retro_agents:BrambleDash/train-v0", num_envs=2, seed=0)
    envs.set_options({"levels": ["BrambleWood.Act1"] * 2})
    envs.reset()
    named = [{"level": "BrambleDash-Genesis-v0:BrambleWood.Act1"}] * 2
    assert envs.reset_infos == named
    envs.reset()
    assert envs.reset_infos != named


def test_the_same_seed_is_the_same_play():
    def played(seed):
        envs = make_sb3_vec("retro_agents:BrambleDash/train-v0", num_envs=3, seed=seed)
        envs.reset()
        return [envs.step([step % 7] * 3)[0].sum() for step in range(30)]

    assert played(1) == played(1) != played(2)
