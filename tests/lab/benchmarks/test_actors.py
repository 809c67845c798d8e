"""The simulation of actors against what can be computed, and against a clock that ticks."""

from argparse import Namespace
from itertools import product

import numpy as np
import pytest

from lab.benchmarks import actors as benchmark
from lab.benchmarks.actors import COUNTS, LATENCY, NETWORKS, TIMES_FASTER, Costs, simulate, table

COSTS = Costs(
    play=0.5, learn=0.1, take=0.02, steps=256, block_bytes=7_000_000, weights_bytes=800_000
)


def rate(costs, **options):
    return simulate(costs, **options)["steps_per_second"] / costs.steps


@pytest.mark.parametrize("actors", [1, 2, 4])
def test_few_actors_are_the_limit(actors):
    row = simulate(COSTS, actors=actors)
    assert row["steps_per_second"] == pytest.approx(256 * actors / 0.5, rel=1e-3)
    assert row["actors_busy"] == pytest.approx(1.0, rel=1e-3)
    assert row["learner_busy"] == pytest.approx(actors * 0.12 / 0.5, rel=1e-3)


def test_the_learner_is_the_limit_of_many_and_their_weights_are_as_old_as_all_that_is_ordered():
    for ahead in (0, 1, 3):
        row = simulate(COSTS, actors=20, ahead=ahead)
        assert row["steps_per_second"] == pytest.approx(256 / 0.12, rel=1e-3)
        assert row["lag"] == 20 * (ahead + 1) - 1
        assert row["learner_busy"] == pytest.approx(1.0)
        assert row["store_share"] == pytest.approx(0.02 / 0.12, rel=1e-3)


def test_the_network_is_the_limit_where_blocks_take_longest_to_come():
    row = simulate(COSTS, actors=64, gigabits=0.1)
    assert row["steps_per_second"] == pytest.approx(256 * 0.1e9 / 8 / 7_000_000, rel=1e-3)
    assert row["network_busy"] == pytest.approx(1.0, rel=1e-3)
    weighs = COSTS._replace(weights_bytes=14_000_000)
    assert rate(weighs, actors=64, gigabits=0.1) == pytest.approx(0.1e9 / 8 / 14e6, rel=1e-3)


def ticking(costs, *, actors, ahead, gigabits, blocks, tick):
    """The simulation as a slow oracle, which looks at all parts at every tick of a clock -> seconds
    until `blocks` blocks are learned from. Costs are whole ticks."""
    send, bring, late, play, learn = (
        round(seconds / tick)
        for seconds in (
            8 * costs.weights_bytes / (gigabits * 1e9),
            8 * costs.block_bytes / (gigabits * 1e9),
            LATENCY,
            costs.play,
            costs.take + costs.learn,
        )
    )
    durations = {"out": send, **dict.fromkeys(range(actors), play), "in": bring, "learner": learn}
    lines = {name: [] for name in durations}
    lines["out"] = [(number, number % actors) for number in range(actors * (ahead + 1))]
    working, moving = {}, []
    learned = now = 0
    while learned < blocks:
        now += 1
        for _, (name, duration) in product(range(2), durations.items()):
            if name in working and working[name][0] <= now:
                _, number, actor = working.pop(name)
                if name == "learner":
                    learned += 1
                    lines["out"].append((actors * (ahead + 1) + learned, actor))
                else:
                    to, delay = {"out": (actor, late), "in": ("learner", late)}.get(name, ("in", 0))
                    moving.append((now + delay, to, number, actor))
            for arrival in [m for m in moving if m[0] <= now and m[1] == name]:
                moving.remove(arrival)
                lines[name].append(arrival[2:])
            if name not in working and lines[name]:
                if name == "learner":
                    lines[name].sort()
                working[name] = (now + duration, *lines[name].pop(0))
    return now * tick


@pytest.mark.parametrize("actors", [1, 3])
@pytest.mark.parametrize("ahead", [0, 1])
@pytest.mark.parametrize("learn", [0.004, 0.031])
def test_it_goes_as_by_a_clock_that_ticks(actors, ahead, learn):
    costs = Costs(0.037, learn, 0.003, 1, block_bytes=9 * 125_000, weights_bytes=2 * 125_000)
    slow = [
        ticking(costs, actors=actors, ahead=ahead, gigabits=1.0, blocks=n, tick=1e-3)
        for n in (60, 120)
    ]
    found = rate(costs, actors=actors, ahead=ahead, gigabits=1.0, blocks=120)
    assert found == pytest.approx(60 / np.diff(slow)[0], rel=0.01)


def test_the_table_sets_runs_beside_their_parts_and_names_the_limit():
    parts = {
        "player": {"block_cpu_ms": 90.0, "steps": 256, "block_bytes": 7e6, "weights_bytes": 8e5},
        "learner": {"block_cpu_ms": 130.0},
        "store": {"take_cpu_ms": 10.0, "send_cpu_ms": 10.0},
        "orders-2": {"take_cpu_ms": 1.0},
        "orders-512": {"take_cpu_ms": 1.0},
    }
    alone = {"steps_per_second": 256 / 0.44, "learner_stretch": 2.0}
    two = {"steps_per_second": 256 / 0.28, "learner_stretch": 2.0, "actors_stretch": 1.0}
    rows = table([{**parts, "run-0": alone, "run-2": two}], Namespace())
    ratios = {row["ratio"]: row["value"] for row in rows if "ratio" in row}
    assert ratios == pytest.approx({"simulated/run-0": 1.0, "simulated/run-2": 1.0}, abs=1e-3)
    many = [row for row in rows if "network" in row]
    assert len(many) == len(COUNTS) * len(NETWORKS) * len(TIMES_FASTER)
    limits = {(row["actors"], row["network"], row["learner"]): row["limit"] for row in many}
    assert limits[1, "none", 20] == "actors" and limits[1, "none", 1] == "learner"
    assert limits[256, "1 Gbit/s", 20] == "network" and limits[256, "none", 20] == "store"


def test_an_actors_process_is_measured_beside_the_learners(ray_address):
    row = benchmark.whole(1, 0.1, ray_address)
    assert row["learner_cpu_ms"] > 0.0 and row["actors_cpu_ms"] > 0.0
