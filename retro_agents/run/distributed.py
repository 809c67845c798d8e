"""Several processes that train one net: their ranks, and what they sum up.

`torchrun --nproc-per-node 2 -m AGENT.train …` starts them. A single process is a group of one, in
which all of this does nothing, so callers need no special case.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, final

import torch
import torch.distributed as dist
import torch.distributed.nn  # see `joined`
from torch import Tensor, nn

from retro_agents.ground.device import prepare_device
from retro_agents.ground.errors import UserError
from retro_agents.ground.processes import announced

PATIENCE = timedelta(days=1)
"""Time that processes wait for rank 0, which alone evaluates, films and saves. PyTorch's own
is 10 minutes on GPUs and 30 on CPUs. One that has ended is noticed at once, see LOST."""
LOST = ("closed by peer", "reset by peer", "Broken pipe", "ncclRemoteError")
"""Parts of gloo's and NCCL's messages about a process that has ended."""
STARTED = ("RANK", "MASTER_ADDR", "MASTER_PORT")
"""What torchrun sets beside WORLD_SIZE."""


@contextlib.contextmanager
def all_there() -> Iterator[None]:
    """Raises UserError if another process ends while the block waits for it."""
    try:
        yield
    except RuntimeError as error:
        if not any(words in str(error) for words in LOST):
            raise
        raise UserError(
            "another process of this run has ended: see what it said, or whether it lacked memory; "
            "--resume continues from the last checkpoint"
        ) from None


@final
class Group:
    """The processes of this run. rank: this process's number; size: the number of processes."""

    def __init__(self) -> None:
        self.active = dist.is_available() and dist.is_initialized()
        self.rank = dist.get_rank() if self.active else 0
        self.size = dist.get_world_size() if self.active else 1

    def sum(self, tensor: Tensor) -> Tensor:
        """The tensor, summed over all processes, in place."""
        if self.active:
            with all_there():
                dist.all_reduce(tensor)
        return tensor

    def average_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        """Replace the gradients in every process by their mean over all processes."""
        if not self.active:
            return
        gradients = [p.grad for p in parameters if p.grad is not None]
        flat = self.sum(torch.cat([g.flatten() for g in gradients])) / self.size
        parts = flat.split([g.numel() for g in gradients])
        for gradient, mean in zip(gradients, parts, strict=True):
            gradient.copy_(mean.view_as(gradient))

    def share(self, num_envs: int) -> slice:
        """This process's equal share of the environments. Raises UserError if several processes
        have none."""
        share, rest = divmod(num_envs, self.size)
        if self.size > 1 and (rest or not share):
            raise UserError(
                f"--num-envs {num_envs} cannot be divided among {self.size} processes: give a "
                f"multiple of {self.size}"
            )
        return slice(self.rank * share, (self.rank + 1) * share)

    def gather(self, value: Any) -> list[Any]:
        """The values of all processes, in the order of ranks, in every process."""
        values: list[Any] = [value]
        if self.active:
            values = [None] * self.size
            with all_there():
                dist.all_gather_object(values, value)
        return values

    def any(self, here: bool) -> bool:
        """Whether it is true in any process."""
        return any(self.gather(here))


@contextlib.contextmanager
def joined(device: str) -> Iterator[str]:
    """Join the group that torchrun announced, if any -> the device of this process.

    device: as in configs; CUDA, requested or chosen, becomes this process's own device.
    NCCL joins GPUs, gloo CPUs. Raises UserError if there are fewer GPUs than processes, or if
    something else than torchrun has set WORLD_SIZE.

    PyTorch's optimisers import torch.distributed.nn, whose functions use the current group as a
    default. That would keep this group alive after its end, and sometimes its threads would abort a
    process at exit. So the module is imported before the group exists.
    """
    if (size := announced()) == 1:
        yield device
        return
    on_gpu = device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())
    if on_gpu:
        device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        torch.cuda.set_device(prepare_device(device))
    if missing := [name for name in STARTED if name not in os.environ]:
        raise UserError(
            f"WORLD_SIZE is {size}, but {missing[0]} is not set: unset WORLD_SIZE for one process, "
            "or start with torchrun"
        )
    dist.init_process_group("nccl" if on_gpu else "gloo", timeout=PATIENCE)
    try:
        yield device
    finally:
        dist.destroy_process_group()
