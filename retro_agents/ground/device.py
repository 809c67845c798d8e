"""The device to compute on, set up for training small nets."""

import contextlib
import ctypes
from collections.abc import Iterator

import torch

from retro_agents.ground.errors import UserError
from retro_agents.ground.memory import check_memory

THREADS = torch.get_num_threads()
"""PyTorch's own choice for this process."""
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of malloc.h
KEPT = 1 << 30


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Lets torch compute in one thread, which is faster for a few rows: where other processes are
    busy, its threads wait for each other."""
    before = torch.get_num_threads()
    if before > 1:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if before > 1:
            torch.set_num_threads(before)


def prepare_device(name: str, *, threads: int = 0) -> torch.device:
    """Sets up and returns the device "cpu", "cuda", "cuda:1" or "auto" (CUDA if available).

    threads: CPU threads of torch; 0 leaves its choice. Raises UserError if there is no such device.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UserError(f"unknown device {name!r}; expected cpu, cuda, cuda:N or auto") from None
    if device.type not in ("cpu", "cuda"):
        raise UserError(f"device {name!r} is not supported; expected cpu, cuda, cuda:N or auto")
    # The count comes from the driver; if that is too old for this torch, it is 0.
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device.type == "cuda" and (device.index or 0) >= count:
        raise UserError(
            f"device {name!r} does not exist: torch finds {count} CUDA devices; "
            "use cpu, or a build of torch that fits the driver"
        )
    if threads > 0:
        torch.set_num_threads(threads)
    if device.type == "cuda":
        torch.backends.cudnn.benchmark = True
        torch.set_float32_matmul_precision("high")
    _keep_freed_memory()
    return device


def computes_in_bf16(precision: str, device: torch.device) -> bool:
    """Returns whether nets of that --precision compute in bf16; "auto" chooses the faster type.

    bf16 is faster on a GPU, and on an x86 CPU with AMX or AMD's AVX-512 for bf16. Intel's AVX-512
    multiplies no faster in bf16 than in fp32: PPO2 takes 1.3 times as long there. A CPU without
    bf16 instructions takes several times as long; ARM was not measured.
    """
    if precision != "auto":
        return precision == "bf16"
    if device.type == "cuda":
        with torch.cuda.device(device):
            return torch.cuda.is_bf16_supported(including_emulation=False)
    has = torch.cpu.get_capabilities()
    intel = has.get("cpu_name", "").startswith("Intel")
    return has.get("amx_bf16", False) or (has.get("avx512_bf16", False) and not intel)


def acts_in_bf16(precision: str, device: torch.device) -> bool:
    """Returns whether nets of that --precision act in bf16: never on a CPU, where casting the
    weights at every step costs more than bf16 saves on so few observations."""
    return device.type == "cuda" and computes_in_bf16(precision, device)


@contextlib.contextmanager
def memory_for(what: str, *, instead: str, size: float = 0.0) -> Iterator[None]:
    """Raises UserError, "no memory for {what}; {instead}", if an allocation in the block
    fails, or at once if `size` bytes are not free: Linux overcommits memory."""
    check_memory(size, what, instead=instead)
    try:
        yield
    except (MemoryError, RuntimeError, TypeError, ValueError) as error:
        # Torch has no class of its own for this on a CPU; impossible sizes have other messages.
        words = (
            *("not enough memory", "can't allocate memory", "calculation overflowed"),
            *("Overflow when unpacking", "array is too big", "Maximum allowed dimension"),
        )
        known = isinstance(error, MemoryError | torch.OutOfMemoryError)
        if not known and not any(part in str(error) for part in words):
            raise
        raise UserError(f"no memory for {what}; {instead}") from None


def _keep_freed_memory() -> None:
    """Makes glibc keep freed memory: every update frees and allocates the same megabytes, and
    getting them from the system again took a tenth of an update's time."""
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_MMAP_THRESHOLD, KEPT)
        mallopt(M_TRIM_THRESHOLD, KEPT)
