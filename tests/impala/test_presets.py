"""Presets have the values of what they are named after."""

from impala.train import parse
from retro_agents.run.config import flat, to_dict


def test_procgen_has_the_values_of_the_competitions_entry():
    """Of its RLlib configuration: 2 workers of 8 environments; a rate over 8 million steps."""
    settings = flat(to_dict(parse(["--preset", "procgen"])))
    wanted = {
        "num_envs": 2 * 8,
        "timesteps": 8_000_000,
        "frames": "0",
        "encoder": "impala",
        "widths": "16,32,32",
        "hidden": 256,
        "initialisation": "xavier-all",
        "recurrent": "none",
        "batch_size": 1024,
        "epochs": 3,
        "replay_batches": 0,
        "gamma": 0.99,
        "reward_scale": 1.0,
        "rho_bar": 1.0,
        "c_bar": 1.0,
        "optimiser": "adam",
        "learning_rate": 5e-4,
        "learning_rate_schedule": "0:0.2,0.125:1,1:0.2",
        "value_weight": 0.5,
        "entropy_weight": 0.01,
        "gradient_norm": 0.5,
    }
    assert {name: settings[name] for name in wanted} == wanted
