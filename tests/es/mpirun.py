"""The starter of processes that the mpich wheel brings."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.runs import ROOT

MPIRUN = Path(sys.executable).parent / "mpirun"
needs_mpirun = pytest.mark.skipif(
    not MPIRUN.exists(), reason="no mpirun beside python: the mpich wheel is not installed"
)


def mpirun(processes, *words):
    """The command of so many processes of Python."""
    return [str(MPIRUN), "-n", str(processes), sys.executable, *map(str, words)]


def finished(command, **options):
    """Run a command to its end."""
    given = {"cwd": ROOT, "capture_output": True, "text": True, "timeout": 280, **options}
    return subprocess.run(command, **given)
