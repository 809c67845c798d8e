import subprocess
import sys

import numpy as np

from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.metrics import read_columns
from tests.runs import ROOT
from trpo.train import main

LEVELS = ",".join(f"BrambleDash-Genesis-v0:BrambleWood.Act{n}" for n in "123")
FLAGS = [
    *("--levels", LEVELS, "--num-envs", "4", "--rotate-every", "10", "--device", "cpu"),
    *("--image-height", "36", "--image-width", "36", "--hidden", "16", "--torch-threads", "1"),
    *("--encoder", "data-efficient", "--rollout-steps", "16", "--timesteps", "128"),
    *("--damping", "1.0", "--fisher-every", "2"),
]


def test_two_processes_equal_one(tmp_path):
    """But for the order in which floating-point numbers are added up."""
    one, two = tmp_path / "one", tmp_path / "two"
    main([*FLAGS, "--run-dir", str(one)])
    launch = [*(sys.executable, "-m", "torch.distributed.run", "--standalone")]
    launch += ["--nproc-per-node", "2", "-m", "trpo.train", *FLAGS, "--run-dir", str(two)]
    subprocess.run(launch, cwd=ROOT, check=True, capture_output=True, timeout=240)
    assert (one / "episodes.csv").read_text() == (two / "episodes.csv").read_text()
    left, right = (read_columns(path / "metrics.csv") for path in (one, two))
    assert len(left["step"]) == 2 and (left["step"] == right["step"]).all()
    for name in left:
        np.testing.assert_allclose(left[name], right[name], rtol=1e-2, atol=1e-4, err_msg=name)
    weights = [load_checkpoint(path).tensors["net"] for path in (one, two)]
    for name in weights[0]:
        pair = (group[name] for group in weights)
        np.testing.assert_allclose(*pair, rtol=1e-2, atol=1e-4, err_msg=name)
