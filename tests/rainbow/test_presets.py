"""Presets have the values of what they are named after."""

from experiment.config import flat, to_dict
from rainbow.train import parse


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
