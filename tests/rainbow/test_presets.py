"""Presets have the values of what they are named after."""

from rainbow.train import parse
from retro_agents.run.config import flat, to_dict


def test_ape_x_fast_is_laptop_with_the_parts_of_ape_x_on_platform_games():
    settings = [
        flat(to_dict(parse(["--preset", preset, "--levels", "bramble-train"])))
        for preset in ("laptop", "ape-x-fast")
    ]
    laptop, fast = settings
    assert {name: value for name, value in fast.items() if value != laptop[name]} == {
        "noisy": False,
        "epsilon_start": 0.4,
        "epsilon_final": 0.4,
        "epsilon_ladder": 7.0,
        "initial_priorities": True,
        "n_step": 3,
        "num_envs": 16,
    }


def test_ape_x_has_the_values_of_the_competitions_entry():
    """Of its RLlib configuration: 6 workers of 4 environments, ε_i = 0.4^(1 + 7i/(N − 1))."""
    settings = flat(to_dict(parse(["--preset", "ape-x"])))
    wanted = {
        "num_envs": 6 * 4,
        "frames": "0,-3",
        "double": True,
        "dueling": True,
        "streams": "separate",
        "noisy": False,
        "encoder": "impala",
        "widths": "16,32,32",
        "hidden": 512,
        "distributional": True,
        "quantiles": 0,
        "atoms": 99,
        "v_min": -5.0,
        "v_max": 20.0,
        "reward_scale": 1.0,
        "gamma": 0.99,
        "n_step": 20,
        "learning_rate": 1e-4,
        "adam_epsilon": 1.5e-4,
        "gradient_norm": 40.0,
        "learning_starts": 50_000,
        "batch_size": 128,
        "target_every": 20_000,
        "replay_size": 200_000,
        "prioritised": True,
        "initial_priorities": True,
        "priority_alpha": 0.5,
        "priority_beta": 0.4,
        "priority_beta_final": 1.0,
        "priority_beta_steps": 2_000_000,
        "epsilon_start": 0.4,
        "epsilon_final": 0.4,
        "epsilon_ladder": 7.0,
    }
    assert {name: settings[name] for name in wanted} == wanted
