"""The cores that a process may use: what its affinity, Slurm and control groups allow."""

import os

import pytest

from retro_agents.ground import cores


@pytest.mark.parametrize(
    ("groups", "files", "allowed"),
    [
        ("0::/", {"cpu.max": "max 100000"}, 0),
        ("0::/", {"cpu.max": "250000 100000"}, 2),
        ("0::/", {"cpu.max": "50000 100000"}, 1),
        ("0::/a/b", {"a/cpu.max": "300000 100000", "a/b/cpu.max": "max 100000"}, 3),
        ("4:memory:/x\n1:cpu,cpuacct:/x", {"cpu/cpu.cfs_quota_us": "400000"}, 4),
        ("1:cpu,cpuacct:/x", {"cpu/cpu.cfs_quota_us": "-1"}, 0),
        ("2:cpuset:/", {}, 0),
    ],
)
def test_the_quota_is_the_least_of_a_process_and_the_groups_around_it(
    tmp_path, groups, files, allowed
):
    (tmp_path / "own").write_text(f"{groups}\n")
    for name, text in (files | {"cpu/cpu.cfs_period_us": "100000"}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert cores.quota(tmp_path / "own", tmp_path) == allowed
    assert cores.quota(tmp_path / "nothing", tmp_path) == 0


def test_free_cores_are_the_least_of_what_is_allowed(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    for limit, task, free in ((0, "", 8), (0, "2", 2), (3, "4", 3), (16, "", 8), (0, "0", 1)):
        monkeypatch.setattr(cores, "quota", lambda limit=limit: limit)
        monkeypatch.setenv("SLURM_CPUS_PER_TASK", task)
        assert cores.free_cores() == free
