import os
import subprocess
import sys

from tests.runs import ROOT

LEARNS_ONCE = """
from pathlib import Path

import torch

from retro_agents.run.distributed import Group, joined

with joined("cpu"):
    weight = torch.nn.Parameter(torch.ones(3))
    weight.grad = Group().sum(torch.ones(3))
    torch.optim.Adam([weight], fused=True).step()
threads = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
print("threads:", *threads)
assert not [name for name in threads if "gloo" in name], threads
"""


def test_a_group_that_ended_leaves_no_threads_to_abort_the_exit(tmp_path):
    script = tmp_path / "learns_once.py"
    script.write_text(LEARNS_ONCE)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    argv = [*torchrun, "--nproc-per-node", "2", str(script)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(argv, env=environment, capture_output=True, timeout=120)
    assert ended.returncode == 0, ended.stderr.decode()
    assert ended.stdout.count(b"threads:") == 2
