"""A long run: memory stays what it was."""

import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from retro_agents.contest.wire.protocol import TimestepTimeoutError
from retro_agents.contest.wire.remote_vec import RemoteVectorEnv
from retro_agents.games.retro.config import EnvConfig
from tests.contest.conftest import serve_toy

STRETCH, STRETCHES = 5_000, 4
STEPS = STRETCH * STRETCHES
ALLOWED_KIB = 64, 192
"""More memory after a stretch, of the server and of this process, where other tests' threads are:
13 and 39 bytes a step."""


def memory_kib(pid):
    """Resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_is_flat_over_twenty_thousand_steps(tmp_path, toy):
    context = multiprocessing.get_context("spawn")  # a fork shares what other tests left here
    arguments = (toy(length=50), tmp_path / "shared", tmp_path / "results")
    server = context.Process(target=serve_toy, args=arguments, kwargs={"timesteps": STEPS})
    server.start()
    config = EnvConfig(image_height=4, image_width=5)
    envs = RemoteVectorEnv(tmp_path / "shared", config=config)
    envs.reset()
    action = np.array([1])
    memory = []
    for step in range(1, STEPS):
        envs.step(action)
        if step % STRETCH == 0 or step == STEPS - 1:
            memory.append((memory_kib(server.pid or 0), memory_kib("self")))
    envs.step(action)
    with pytest.raises(TimestepTimeoutError):
        envs.step(action)
    envs.close()
    server.join()
    # What leaks grows in every stretch; what a process takes once does not.
    assert (np.diff(memory, axis=0).min(axis=0) < ALLOWED_KIB).all(), memory
    assert len((tmp_path / "results" / "monitor.csv").read_text().splitlines()) == STEPS // 50 + 1
