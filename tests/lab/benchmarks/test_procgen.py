"""The programs beside which PPO2 is measured on Procgen learn with its preset's values."""

import argparse
from pathlib import Path

import pytest

pytest.importorskip("stable_baselines3")

from lab.benchmarks import procgen, sb3_ppo
from lab.benchmarks.peers.train_procgen import EASY
from ppo2.train import parse
from retro_agents.ground.errors import UserError


def flags_of(case: str) -> list[str]:
    line = procgen.line(case, 3, "FOLDER", argparse.Namespace())
    return line[line.index("--preset") :]


def test_train_procgen_has_the_values_of_the_preset() -> None:
    config = parse(["--preset", "procgen-easy"])
    ours = {
        "epoch": config.epochs,
        "gamma": config.gamma,
        "lmbda": config.lam,
        "learning_rate": config.learning_rate,
        "grad_clip_norm": config.gradient_norm,
        "eps_clip": config.clip,
        "value_coef": config.value_weight,
        "entropy_coef": config.entropy_weight,
        "normalize_adv": config.normalise == "rollout",
        "use_gae": True,
    }
    assert ours == EASY


def test_stable_baselines3_is_told_the_same() -> None:
    told = sb3_ppo.settings(parse(flags_of("sb3")))
    ours = parse(flags_of("ppo2-fp32"))
    assert told["batch_size"] == procgen.ROWS == ours.run.num_envs * ours.rollout_steps
    assert told["n_epochs"] == ours.epochs == 3
    assert (ours.minibatches, ours.precision, ours.run.timesteps) == (1, "fp32", 3 * procgen.ROWS)


@pytest.mark.parametrize("case", ["cleanrl", "train-procgen"])
def test_a_missing_checkout_is_one_line(case: str, tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        options = argparse.Namespace(cleanrl=folder, train_procgen=folder)
        with pytest.raises(UserError, match=f"--{case}: expected the folder"):
            procgen.line(case, 1, "FOLDER", options)
