"""The starter of processes that the mpich wheel brings."""

import sys
from pathlib import Path

import pytest

MPIRUN = Path(sys.executable).parent / "mpirun"
needs_mpirun = pytest.mark.skipif(
    not MPIRUN.exists(), reason="no mpirun beside python: the mpich wheel is not installed"
)
