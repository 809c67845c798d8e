"""When clocks run, and what they are of."""

import subprocess
import sys
from argparse import Namespace

import pytest

from lab.benchmarks import backends, ppo2, rllib
from lab.benchmarks.peers.stopwatch import Stopwatch, cpu_of_family

SMALL = {
    "impala": {"num_envs": 4, "rollout_steps": 4, "batch_size": 8, "hidden": 8, "widths": "4,4,4"},
    "sac": {"learning_starts": 32, "batch_size": 8, "hidden": 8, "widths": "4,4,4"},
    "rainbow": {"learning_starts": 600, "batch_size": 8, "hidden": 8, "widths": "4,4,4"},
}


def test_stopwatch_starts_after_the_warm_up():
    stopwatch = Stopwatch(seconds=0.0, warm_up=24)
    assert [stopwatch.tick(8) for _ in range(4)] == [False, False, False, True]
    assert stopwatch.began == 24
    assert set(stopwatch.result()) == {"steps_per_second", "cpu_ms_per_step"}


def test_ppo2s_first_cycle_is_left_out():
    cycles = ppo2.Cycles(seconds=0.0, pids=[])
    assert [cycles.mark() for _ in range(4)] == [False, False, False, True]
    assert cycles.began == 2 * ppo2.ROWS and cycles.steps == 4 * ppo2.ROWS


@pytest.mark.parametrize("name", backends.RUNS)
def test_every_part_of_a_run_has_a_share(name, monkeypatch):
    monkeypatch.setattr(backends, "WARM_UP", backends.BLOCK)
    agent, preset, flags = backends.RUNS[name]
    row = backends.whole(agent, preset, seconds=0.001, **flags)
    shares = [row[f"{part}_share"] for part in ("acting", "environment", "learning", "rest")]
    assert min(shares) > 0.0
    assert sum(shares) == pytest.approx(1.0)


@pytest.mark.parametrize("agent", rllib.AGENTS)
def test_run_beside_rllib_is_timed_in_whole_blocks(agent, monkeypatch):
    ticks = []

    class Watch(Stopwatch):
        def tick(self, steps=0):
            ticks.append(steps)
            return super().tick(steps)

    monkeypatch.setitem(rllib.SHARED, agent, rllib.SHARED[agent] | SMALL[agent])
    monkeypatch.setitem(rllib.WARM_UP, agent, 48)
    monkeypatch.setattr(rllib, "Stopwatch", Watch)
    row = rllib.run_here(f"{agent}-1", Namespace(seconds=0.001))
    assert min(row["steps_per_second"], row["cpu_ms_per_step"]) > 0.0
    assert set(ticks) == {{"impala": 16, "sac": 32, "rainbow": 48}[agent]}


def test_cpu_time_is_of_children_too():
    text = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    before = cpu_of_family()
    with subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        assert cpu_of_family() - before >= 0.25
        child.communicate(b"\n")
