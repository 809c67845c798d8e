"""Presets have the values of what they are named after."""

from retro_agents.run.config import flat, to_dict
from sac.train import parse


def test_procgen_entry_has_the_values_of_rllib():
    """Its defaults of 2020, which the competition's entry took."""
    settings = flat(to_dict(parse(["--preset", "procgen-entry"])))
    wanted = {
        "frames": "0",
        "encoder": "impala",
        "widths": "16,32,32",
        "hidden": 256,
        "gamma": 0.99,
        "n_step": 1,
        "reward_scale": 1.0,
        "entropy_target": 0.98,
        "temperature": 1.0,
        "target_rate": 0.005,
        "prioritised": False,
        "replay_size": 200_000,
        "learning_starts": 1500,
        "batch_size": 256,
        "learning_rate": 3e-4,
        "temperature_rate": 3e-4,
    }
    assert {name: settings[name] for name in wanted} == wanted
