"""The number of cores that this process may use."""

import functools
import os
from pathlib import Path


def free_cores() -> int:
    """Returns the number of cores that this process may use: those that it may run on, but no more
    than Slurm gives each task or the quota of a container or a cluster's job."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        here = len(os.sched_getaffinity(0))
    else:
        here = os.cpu_count() or 1
    task = os.environ.get("SLURM_CPUS_PER_TASK", "")
    return max(1, min(here, int(task) if task.isdecimal() else here, quota() or here))


@functools.cache
def quota(own: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int:
    """Returns how many cores the control groups of this process allow, rounded down but at least
    1; 0 if they set no limit. own: names the groups; root: where they are mounted."""
    found = [0]
    for line in own.read_text().splitlines() if own.is_file() else []:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / "cpu" if controllers else root
        for name in (group := Path(path.lstrip("/")), *group.parents):
            found.append(quota_of(top / name))
    return min(filter(None, found), default=0)


def quota_of(group: Path) -> int:
    """Returns a control group's own limit as `quota` does."""
    try:
        if (group / "cpu.max").is_file():  # version 2 of control groups
            limit, period = (group / "cpu.max").read_text().split()
        else:
            parts = ("quota", "period")
            limit, period = ((group / f"cpu.cfs_{part}_us").read_text() for part in parts)
        return max(1, int(limit) // int(period)) if int(limit) > 0 else 0
    except (OSError, ValueError):  # there is no such group here, or its limit is "max"
        return 0
