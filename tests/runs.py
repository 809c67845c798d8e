"""What tests ask of whole runs: whether two are the same, and to be killed."""

import os
import signal
import subprocess
import time
from pathlib import Path

import safetensors.torch
import torch

from experiment.checkpoint import latest_checkpoint

ROOT = Path(__file__).parents[1]


def final_tensors(run_dir: Path) -> dict[str, torch.Tensor]:
    """All tensors of the last checkpoint, by file and name."""
    return {
        f"{path.stem}/{key}": tensor
        for path in sorted(latest_checkpoint(run_dir).glob("*.safetensors"))
        for key, tensor in safetensors.torch.load_file(path).items()
    }


def assert_same_run(one: Path, other: Path) -> None:
    """Metrics, episodes and the tensors of the last checkpoint are equal, bit by bit."""
    for name in ("metrics.csv", "episodes.csv"):
        assert (one / name).read_text() == (other / name).read_text()
    left, right = final_tensors(one), final_tensors(other)
    assert left and left.keys() == right.keys()
    for key, tensor in left.items():
        assert torch.equal(tensor, right[key]), key


def kill_at(step: int, command: list[str], run_dir: Path) -> None:
    """Run a training command and kill it as soon as its checkpoint of that step is there."""
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not (run_dir / f"checkpoints/step-{step:09}/meta.json").exists():
        assert process.poll() is None, "ended before it could be killed"
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
