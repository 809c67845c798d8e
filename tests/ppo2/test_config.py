"""PPO2's flags."""

import pytest

from experiment.errors import UserError
from ppo2.train import parse

FOREIGN = {
    "levels": "env_name env_id",
    "run-dir": "exp_name",
    "preset": "param_name",
    "timesteps": "num_timesteps total_steps total_timesteps",
    "device": "gpu_device",
    "seed": "rand_seed",
    "num-envs": "n_envs num_processes",
    "rollout-steps": "n_steps num_steps nsteps",
    "epochs": "epoch num_epochs update_epochs ppo_epoch num_sgd_iter",
    "minibatches": "mini_batch_per_epoch num_minibatches",
    "lam": "lmbda gae_lambda lambda",
    "clip": "eps_clip clip_param clip_coef eps",
    "gradient-norm": "grad_clip_norm max_grad_norm grad_eps grad_clip",
    "value-weight": "value_coef vf_coef vf_loss_coeff",
    "entropy-weight": "entropy_coef ent_coef",
    "normalise": "normalize_adv norm_adv",
    "normalise-returns": "normalize_rew",
    "learning-rate-schedule": "anneal_lr",
    "hidden": "feature_dim",
    "encoder": "architecture",
    "backgrounds": "use_backgrounds",
    "monochrome": "use_monochrome_assets",
    "generated-assets": "use_generated_assets",
    "velocity-info": "paint_vel_info",
    "centre-agent": "center_agent",
}
"""Our flag -> what train-procgen, its relatives and the environment call it."""
REFUSED = {
    "use_sequential_levels": "EnvPool draws levels at random",
    "sequential_levels": "EnvPool draws levels at random",
    "log_level": "has no levels",
    "render_mode": "--video-every",
}


def said_to(*words):
    with pytest.raises(UserError) as error:
        parse(list(words))
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "ours"), [(name, ours) for ours, names in FOREIGN.items() for name in names.split()]
)
def test_a_flag_of_another_program_is_answered_with_ours(name, ours):
    assert said_to("--levels", "procgen:coinrun", f"--{name}", "1").endswith(
        f"unknown flag --{name.replace('_', '-')}; did you mean '--{ours}'?"
    )


@pytest.mark.parametrize(("name", "why"), REFUSED.items())
def test_a_flag_that_nothing_here_can_do_says_why(name, why):
    assert why in said_to("--levels", "procgen:coinrun", f"--{name}", "1")


def test_a_flag_of_the_other_games_says_so():
    procgen = ["--levels", "procgen:coinrun"]
    for flag in ("--image-height", "--frame_skip", "--no-backtracking"):
        ours = flag.replace("_", "-")
        assert f"unknown flag {ours}; it is for platform games" in said_to(*procgen, flag)
    for flag in ("--num-levels", "--timeouts"):
        assert f"{flag}; it is for Procgen (--levels procgen:GAME)" in said_to(flag)
    assert "--backgrounds is for Procgen" in said_to("--use-backgrounds")


def test_a_field_of_the_other_games_in_a_file_says_so(tmp_path):
    (tmp_path / "a.yaml").write_text("num_levels: 3\n")
    said = said_to("--config", str(tmp_path / "a.yaml"))
    assert "unknown field 'num_levels' for PPO2Config; it is for Procgen" in said
