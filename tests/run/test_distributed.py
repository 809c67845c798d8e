from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from retro_agents.ground.errors import UserError
from retro_agents.run.distributed import STARTED, Group, joined
from tests.runs import in_two_processes


def learn_once():
    with joined("cpu"):
        weight = torch.nn.Parameter(torch.ones(3))
        weight.grad = Group().sum(torch.ones(3))
        torch.optim.Adam([weight], fused=True).step()
        assert weight.grad.tolist() == [2.0, 2.0, 2.0]
    threads = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    assert not [name for name in threads if "gloo" in name], threads


@pytest.mark.parametrize("count", [0, 3])
def test_environments_that_two_processes_cannot_share_are_refused(count):
    group = Group()
    group.size = 2
    assert group.share(4) == slice(0, 2)
    with pytest.raises(UserError, match="give a multiple of 2"):
        group.share(count)


def test_a_group_that_ended_leaves_no_threads_to_abort_the_exit():
    in_two_processes(learn_once)


def wait_for_one_that_ends(wait):
    with joined("cpu"):
        ask_all()  # until both have joined
        if Group().rank:
            with pytest.raises(UserError, match="another process of this run has ended"):
                wait()


def sum_up():
    Group().sum(torch.ones(3))


def ask_all():
    Group().any(False)


@pytest.mark.parametrize("wait", [sum_up, ask_all])
def test_a_process_that_ends_is_one_line_in_the_others(wait):
    in_two_processes(wait_for_one_that_ends, wait)


def test_a_number_of_processes_that_torchrun_did_not_set_is_refused(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    said = "WORLD_SIZE is 2, but RANK is not set: unset WORLD_SIZE for one process, or start with"
    with pytest.raises(UserError, match=said), joined("cpu"):
        pass


def test_processes_wait_for_one_that_evaluates_longer_than_pytorch_lets_them(monkeypatch):
    given = {"timeout": dist.default_pg_timeout}
    for name in ("WORLD_SIZE", *STARTED):
        monkeypatch.setenv(name, "2")
    monkeypatch.setattr(dist, "init_process_group", lambda _, **named: given.update(named))
    monkeypatch.setattr(dist, "destroy_process_group", lambda: None)
    with joined("cpu"):
        assert given["timeout"] >= timedelta(hours=1)
