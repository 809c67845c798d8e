"""Runs of several processes, of the agents that know them; one of them under torchrun."""

import signal
import sys

import numpy as np
import pytest

from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.metrics import read_columns
from retro_agents.run.provenance import read
from tests.agents.tiny import main
from tests.games.procgen.conftest import needs_procgen
from tests.runs import in_two_processes, interrupted

NET = (
    "--device cpu --hidden 16 --torch-threads 1 --encoder data-efficient --num-envs 4 "
    "--rotate-every 10"
)
LEVELS = ",".join(f"BrambleDash-Genesis-v0:BrambleWood.Act{n}" for n in "123")
SMALL = f"--levels {LEVELS} --image-height 36 --image-width 36 --rollout-steps 16 {NET}"
PPO2 = (
    f"{SMALL} --timesteps 200 --novelty 0.1 --rnd 0.1 --learning-rate 1e-3 --checkpoint-every 128 "
    "--kl-penalty 0.2 --dropout 0.2 --augment roll --convolution-l2 1e-4 --noisy --rnd-values two "
    "--detour-after 5"
).split()
TRPO = f"{SMALL} --timesteps 128 --damping 1.0 --fisher-every 2".split()
PROCGEN = (
    f"{NET} --levels procgen:bigfish,bossfight,starpilot --num-levels 9 --rotate-every 0 "
    "--rollout-steps 32 --timesteps 640 --learning-rate 1e-4 --return-gamma 0.9 --frames 0,-3"
).split()


def assert_equal_runs(one, other, *, episodes, rtol=1e-3):
    """Equal but for the order in which floating-point numbers were added up."""
    assert (one / "episodes.csv").read_text() == (other / "episodes.csv").read_text()
    assert len(read_columns(one / "episodes.csv")["step"]) >= episodes
    left, right = (read_columns(path / "metrics.csv") for path in (one, other))
    assert left.keys() == right.keys() and (left["step"] == right["step"]).all()
    for name in left:
        np.testing.assert_allclose(left[name], right[name], rtol=rtol, atol=1e-4, err_msg=name)
    weights = [load_checkpoint(path).tensors["net"] for path in (one, other)]
    for name in weights[0]:
        pair = (group[name] for group in weights)
        np.testing.assert_allclose(*pair, rtol=rtol, atol=rtol / 100, err_msg=name)


def test_two_processes_of_trpo_equal_one(tmp_path):
    main("trpo", [*TRPO, "--run-dir", tmp_path / "one"])
    in_two_processes(main, "trpo", [*TRPO, "--run-dir", tmp_path / "two"])
    assert len(read_columns(tmp_path / "one/metrics.csv")["step"]) == 2
    assert_equal_runs(tmp_path / "one", tmp_path / "two", episodes=8, rtol=1e-2)


def test_two_processes_of_ppo2_equal_one_on_procgen(tmp_path):
    needs_procgen()
    main("ppo2", [*PROCGEN, "--run-dir", tmp_path / "one"])
    in_two_processes(main, "ppo2", [*PROCGEN, "--run-dir", tmp_path / "two"])
    assert_equal_runs(tmp_path / "one", tmp_path / "two", episodes=4)


def test_run_of_one_process_goes_on_in_two_and_in_one_again(tmp_path):
    """The second time within a rollout in which levels were left."""
    main("ppo2", [*PPO2, "--run-dir", tmp_path / "whole"])
    parts = tmp_path / "parts"
    main("ppo2", [*PPO2, "--timesteps", 60, "--run-dir", parts])
    in_two_processes(main, "ppo2", ["--run-dir", parts, "--resume", "--timesteps", 168])
    assert len(load_checkpoint(parts).state["finals"]) == 4
    main("ppo2", ["--run-dir", parts, "--resume", "--timesteps", 200])
    assert_equal_runs(tmp_path / "whole", parts, episodes=16)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_torchrun_saves_a_checkpoint(number, tmp_path):
    flags = [*PPO2, "--timesteps", "1000000", "--checkpoint-every", "0"]
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"]
    command = [sys.executable, *launch, "ppo2.train", *flags, "--run-dir", str(tmp_path)]
    said = interrupted(command, tmp_path, number=number)
    assert "saving a checkpoint" in said
    assert f"python -m ppo2.train --run-dir {tmp_path} --resume continues from the last" in said
    (start,) = read(tmp_path)
    assert (start["device"], start["processes"]) == ("cpu", 2)
    assert start["command"].startswith("python -m ppo2.train --levels ")
    assert load_checkpoint(tmp_path).counters["env_steps"] > 0
