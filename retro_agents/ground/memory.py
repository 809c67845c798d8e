"""How much memory this process may still take."""

from contextlib import suppress
from pathlib import Path

from retro_agents.ground.errors import UserError

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")
"""Where Linux says how much is available, and a container how much it may use."""


def free_memory() -> float:
    """Returns the bytes that this process may still take: the least that the machine, its container
    and `ulimit -v` leave; inf where none of them is known."""
    limits = [float("inf")]
    with suppress(OSError, ValueError, StopIteration):
        limits.append(1024 * _entry(MEMINFO, "MemAvailable:"))
    with suppress(OSError, ValueError, StopIteration):  # "max" where there is no limit
        limit = int((CGROUP / "memory.max").read_text())
        used = int((CGROUP / "memory.current").read_text())
        # Copies of files count as used, but Linux drops them when a process needs the memory.
        limits.append(limit - used + _entry(CGROUP / "memory.stat", "inactive_file"))
    with suppress(ImportError, OSError, ValueError):
        import resource  # Windows has none

        most, _ = resource.getrlimit(resource.RLIMIT_AS)
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limits.append(most - pages * resource.getpagesize())
    return max(min(limits), 0.0)


def _entry(path: Path, name: str) -> int:
    """The number after a name in one of Linux's files."""
    rows = (line.split() for line in path.read_text().splitlines())
    return next(int(row[1]) for row in rows if row[0] == name)


def gib(size: float) -> str:
    """A size in bytes as text in GiB."""
    return f"{min(size, 2**90) / 2**30:,.1f} GiB"


def check_memory(size: float, what: str, *, instead: str) -> None:
    """Raises UserError if something of that size in bytes does not fit."""
    if size > (free := free_memory()):
        raise UserError(
            f"no memory for {what}: {gib(size)} are needed, and {gib(free)} are free; {instead}"
        )
