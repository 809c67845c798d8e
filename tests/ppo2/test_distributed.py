import subprocess
import sys
from pathlib import Path

import numpy as np

from ppo2.train import main
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.metrics import read_columns
from tests.games.procgen.conftest import needs_procgen
from tests.runs import interrupted

ROOT = Path(__file__).parents[2]
LEVELS = ",".join(f"BrambleDash-Genesis-v0:BrambleWood.Act{n}" for n in "123")
FLAGS = [
    *("--levels", LEVELS, "--num-envs", "4", "--rotate-every", "10", "--device", "cpu"),
    *("--image-height", "36", "--image-width", "36", "--hidden", "16", "--torch-threads", "1"),
    *("--encoder", "data-efficient", "--rollout-steps", "16", "--timesteps", "200"),
    *("--novelty", "0.1", "--rnd", "0.1", "--learning-rate", "1e-3", "--checkpoint-every", "128"),
    *("--kl-penalty", "0.2", "--dropout", "0.2", "--augment", "roll", "--convolution-l2", "1e-4"),
]


def two_processes(run_dir, *flags):
    """The command of a run in two processes."""
    return [
        *(sys.executable, "-m", "torch.distributed.run", "--standalone"),
        *("--nproc-per-node", "2", "-m", "ppo2.train", *flags, "--run-dir", str(run_dir)),
    ]


PROCGEN = [
    *("--levels", "procgen:bigfish,bossfight,starpilot", "--num-levels", "9", "--num-envs", "4"),
    *("--device", "cpu", "--hidden", "16", "--torch-threads", "1", "--encoder", "data-efficient"),
    *("--rollout-steps", "32", "--timesteps", "640", "--learning-rate", "1e-4"),
    *("--return-gamma", "0.9", "--frames", "0,-3"),
]


def in_two_processes(run_dir, *flags):
    command = two_processes(run_dir, *flags)
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=240)


def assert_equal_runs(one, other, *, episodes=16):
    """Equal but for the order in which floating-point numbers were added up."""
    assert (one / "episodes.csv").read_text() == (other / "episodes.csv").read_text()
    assert len(read_columns(one / "episodes.csv")["step"]) >= episodes
    left, right = (read_columns(path / "metrics.csv") for path in (one, other))
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_allclose(left[name], right[name], rtol=1e-3, atol=1e-4, err_msg=name)
    weights = [load_checkpoint(path).tensors["net"] for path in (one, other)]
    for name in weights[0]:
        pair = (group[name] for group in weights)
        np.testing.assert_allclose(*pair, rtol=1e-3, atol=1e-5, err_msg=name)


def test_two_processes_equal_one_on_procgen(tmp_path):
    needs_procgen()
    main([*PROCGEN, "--run-dir", str(tmp_path / "one")])
    in_two_processes(tmp_path / "two", *PROCGEN)
    assert_equal_runs(tmp_path / "one", tmp_path / "two", episodes=4)


def test_run_of_one_process_goes_on_in_two_and_in_one_again(tmp_path):
    """The second time within a rollout in which levels were left."""
    main([*FLAGS, "--run-dir", str(tmp_path / "whole")])
    parts = str(tmp_path / "parts")
    main([*FLAGS, "--timesteps", "60", "--run-dir", parts])
    in_two_processes(tmp_path / "parts", "--timesteps", "168", "--resume")
    assert len(load_checkpoint(parts).state["finals"]) == 4
    main(["--run-dir", parts, "--resume", "--timesteps", "200"])
    assert_equal_runs(tmp_path / "whole", tmp_path / "parts")


def test_ctrl_c_in_two_processes_saves_a_checkpoint(tmp_path):
    flags = [*FLAGS, "--timesteps", "1000000", "--checkpoint-every", "0"]
    said = interrupted(two_processes(tmp_path, *flags), tmp_path)
    assert "saving a checkpoint" in said and "--resume continues from the last checkpoint" in said
    assert load_checkpoint(tmp_path).counters["env_steps"] > 0
