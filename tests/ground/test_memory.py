import math
import resource

import pytest

from retro_agents.ground import memory
from retro_agents.ground.errors import UserError
from retro_agents.ground.memory import check_memory, free_memory


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Linux's files about a machine with 2 GiB free, of which a container has 1: half of that holds
    copies of files."""
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    2097152 kB\n")
    (tmp_path / "memory.max").write_text(f"{3 << 30}\n")
    (tmp_path / "memory.current").write_text(f"{5 << 29}\n")
    (tmp_path / "memory.stat").write_text(f"anon {2 << 30}\ninactive_file {1 << 29}\n")
    monkeypatch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    return tmp_path


def test_the_smallest_limit_counts(machine, monkeypatch):
    assert free_memory() == 1 << 30
    (machine / "memory.max").write_text("max\n")
    assert free_memory() == 2 << 30
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1, 1))  # ulimit -v
    assert free_memory() == 0
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    (machine / "meminfo").unlink()
    assert free_memory() == math.inf


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("size", [(1 << 30) + 1, 10**100])
def test_what_does_not_fit_is_refused_before_it_is_made(size):
    check_memory(1 << 30, "images", instead="give fewer")
    with pytest.raises(UserError, match=r"no memory for images: .* and 1\.0 GiB are free; give"):
        check_memory(size, "images", instead="give fewer")
