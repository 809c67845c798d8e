"""Holds an entry's processes: hides files from them, ends all of them, and reports what they used.

`confine.begun` starts this file as FILE CHANNEL COMMAND, and sends it its settings. It imports
nothing of the project, and hides files only in namespaces of its own, which `unshare` makes.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import socket
import struct
import sys
import threading
from pathlib import Path
from typing import Any

COVERED = ("/tmp", "/var/tmp", "/dev/shm", "/dev/pts", "/run")
"""Folders in which an entry could leave something for its next run, or find a server or a
terminal."""
CONSOLES = ("tty?*", "vcs*", "console")
"""Further terminals, in /dev. A device can be written to on a read-only mount too."""
SUBREAPER = 36
BIND, NEW_MOUNTS, NEW_USER = 0x1000, 0x20000, 0x10000000
READ_ONLY, SET_ATTRIBUTES, BELOW = 1, 442, 0x8000
NEW_SESSION = 1
KEYS, COUNTER = {"x86_64": (250, 298), "aarch64": (219, 241)}.get(os.uname().machine, (-1, -1))
"""The numbers of the calls keyctl and perf_event_open."""
HIDING = b"size=256m,nr_inodes=100k"
"""Of each empty folder that hides another one: it is in memory."""
LIMITS = {resource.RLIMIT_FSIZE: 8 * 2**30, resource.RLIMIT_NPROC: 4096}
"""Bytes of a file, and processes with their threads; the system does not count those of root."""
LIBC = ctypes.CDLL(None, use_errno=True)


def check(result: int) -> None:
    """Raises OSError if a system call did not return 0."""
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount(
    source: str, target: Path, kind: str = "", *, flags: int = 0, options: bytes | None = None
) -> None:
    """The system's mount."""
    check(LIBC.mount(source.encode(), os.fsencode(target), kind.encode(), flags, options))


def protect(path: Path, *, below: bool = False, undo: bool = False) -> None:
    """Let nobody write to a mount, and to those below it; undo: let them."""
    change = (ctypes.c_uint64 * 4)(0, READ_ONLY, 0, 0) if undo else (ctypes.c_uint64 * 4)(READ_ONLY)
    where, flags = os.fsencode(path), BELOW if below else 0
    size = ctypes.c_size_t(ctypes.sizeof(change))
    check(LIBC.syscall(SET_ATTRIBUTES, -100, where, flags, ctypes.byref(change), size))


def cover(path: Path) -> None:
    """Hide a folder behind an empty one, or a file behind an empty one, if it is there."""
    if path.is_dir():
        mount("none", path, "tmpfs", options=HIDING)
    elif path.exists():
        mount("/dev/null", path, flags=BIND)


def hide(*, folder: str, covered: list[str], kept: list[str], secret: list[str]) -> int:
    """Let this process and its own write to a run's folder alone, and to empty folders that end
    with the run. covered: more such folders. kept: what it may read in covered folders. secret:
    what it may not read.

    Returns a descriptor of a /proc that can be written to."""
    check(min(0, LIBC.syscall(KEYS, NEW_SESSION, None)))
    run, proc = Path(folder), Path("/proc")
    places = {path: os.open(path, os.O_PATH) for path in (run, *map(Path, kept))}
    protect(Path("/"), below=True)
    mount("proc", proc, "proc")
    writable = os.open(proc, os.O_PATH)
    mount("proc", proc, "proc")
    protect(proc)
    for path in {path.resolve() for path in (*map(Path, (*COVERED, *covered)), run.parent)}:
        cover(path)
    for path, place in places.items():
        if path == run or not path.exists():
            path.mkdir(parents=True, exist_ok=True)
            mount(f"/proc/self/fd/{place}", path, flags=BIND)
    protect(run, undo=True)
    disks = (path for path in Path("/dev").rglob("*") if path.is_block_device())
    consoles = (path for name in CONSOLES for path in Path("/dev").glob(name))
    for path in (*map(Path, secret), *disks, *consoles):
        cover(path)
    return writable


def lock(proc: int) -> None:
    """Enter namespaces in which nothing that is hidden can be uncovered."""
    check(LIBC.unshare(NEW_USER | NEW_MOUNTS))
    for name, text in (("setgroups", b"deny"), ("uid_map", b"0 0 1"), ("gid_map", b"0 0 1")):
        os.write(os.open(f"self/{name}", os.O_WRONLY, dir_fd=proc), text)


def become(command: list[str], *, home: str, core: int | None, seconds: int, proc: int) -> None:
    """Turn this process into the entry's, without a terminal."""
    os.setsid()
    if core is not None:
        os.sched_setaffinity(0, [core])
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    if proc:
        lock(proc)
    for limit, most in LIMITS.items():
        before = resource.getrlimit(limit)[1]
        most = most if before == resource.RLIM_INFINITY else min(most, before)
        resource.setrlimit(limit, (most, most))
    os.chdir(home)  # not the folder of that name that is hidden now
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.exit(f"cannot start {command[0]}: {error.strerror}")


def end_all(first: int) -> None:
    """End and collect every process that is left, so that its use is counted."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(first, signal.SIGKILL)
    while True:
        files = [] if os.getpid() == 1 else Path("/proc/self/task").glob("*/children")
        left = [int(pid) for file in files for pid in file.read_text().split()]
        for pid in [-1] if os.getpid() == 1 else left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def clock() -> int:
    """A descriptor that counts the nanoseconds of CPU time of this process and of all that it
    starts, waited for or not; negative if the system refuses one."""
    inherit, without_kernel = 1 << 1, 1 << 5
    about = struct.pack("IIQQQQQIIQ", 1, 64, 1, 0, 0, 0, inherit | without_kernel, 0, 0, 0)
    return LIBC.syscall(COUNTER, about, 0, -1, -1, 8) if sys.platform == "linux" else -1


def main() -> None:
    """Let a command run until it ends, or until the other end of the channel closes."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.set_inheritable(False)
    said: dict[str, Any] = json.loads(channel.recv(1 << 16))
    proc = hide(**said["hide"]) if said["hide"] else 0
    if sys.platform == "linux":
        check(LIBC.prctl(SUBREAPER, 1, 0, 0, 0))
    counter = clock()
    first = os.fork()
    if not first:
        become(sys.argv[2:], **said["become"], proc=proc)

    def wait() -> None:
        channel.recv(1)
        with contextlib.suppress(ProcessLookupError):
            os.kill(first, signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()
    _, status = os.waitpid(first, 0)
    end_all(first)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    counted = int.from_bytes(os.read(counter, 8), sys.byteorder) / 1e9 if counter >= 0 else 0.0
    seconds = max(counted, used.ru_utime + used.ru_stime)
    with contextlib.suppress(OSError):
        channel.sendall(json.dumps([seconds, used.ru_maxrss]).encode())
    code = os.waitstatus_to_exitcode(status)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
