"""Speed of IMPALA with actors: a player, the learner and Ray's store apart, then many simulated.

Cases, aims, simulation: docs/contribute/benchmarks.md. It needs the extra `actors`, that is, Ray.
"""

import heapq
import os
import tempfile
import time
from collections import deque
from contextlib import ExitStack, closing, suppress
from functools import partial
from itertools import count
from math import inf
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from lab.benchmarks import cases
from lab.benchmarks.cases import Options, Repeat, Row, Rows
from lab.benchmarks.parts import TimeOver, preset_config, scheduled, timed

ENVS = 8
"""Environments of each player: a block is then one batch of the preset `fast`."""
ORDERS = (2, 512)
"""Blocks ordered at a time: those of one actor, and of 256."""
PARTS = ["player", "learner", "store", *(f"orders-{n}" for n in ORDERS)]
CASES = [*PARTS, "run-0", "run-2"]
COUNTS = (1, 2, 16, 64, 256)
NETWORKS = {"none": inf, "10 Gbit/s": 10.0, "1 Gbit/s": 1.0}
"""Bandwidth of the learner's network; none: the actors are on its machine."""
TIMES_FASTER = (1, 20)
"""How many times faster than measured the simulated learner learns."""
LATENCY = 1e-3
"""Latency of a message in seconds."""
WARM_UP = 2
"""Blocks of each player before the clock starts."""


class Costs(NamedTuple):
    """Seconds and bytes of a block."""

    play: float
    """An actor's time, including sending."""
    learn: float
    """The learner's time for learning."""
    take: float
    """The learner's time for receiving a block and ordering one with new weights."""
    steps: int
    block_bytes: float
    weights_bytes: float


def config_for(actors: int, address: str = "") -> Any:
    """IMPALA's config for native BrambleDash, with equally many environments for every player."""
    from impala.train import parse

    flags: dict[str, object] = {"levels": "bramble-train", "backend": "native", "torch_threads": 1}
    flags |= {"num_envs": ENVS * max(actors, 1), "actors": actors}
    return preset_config(parse, "fast", **flags, **({"ray_address": address} if actors else {}))


def player(seconds: float) -> Row:
    """Measure an actor's block."""
    from impala.actors import make_actor

    one = make_actor(config_for(1), 0, 0)
    weights = one.agent.arrays()
    with closing(one.envs):
        row = timed(lambda: one.play(weights, 0), seconds=seconds, name="block")
        block = one.play(weights, 0)
    size = sum(array.nbytes for array in vars(block.sequences).values())
    weigh = sum(array.nbytes for array in weights.values())
    return {**row, "steps": block.env_steps, "block_bytes": size, "weights_bytes": weigh}


def learner(seconds: float) -> Row:
    """Measure the learner's work on a block: one batch."""
    from impala.actors import make_actor
    from impala.training import Training

    training, one = Training(config_for(0)), make_actor(config_for(1), 0, 0)
    with closing(one.envs):
        block = one.play(None, 0)

    def learn() -> None:
        training.count(block)
        training.learn(block)

    return timed(learn, seconds=seconds, name="block")


class Echo:
    """An actor that sends the same block repeatedly, and reports its process's CPU time."""

    def __init__(self, config: Any, whole: bool, index: int, start: int) -> None:
        from impala.actors import make_actor

        self.block: Any = None
        if whole:
            one = make_actor(config, index, start)
            with closing(one.envs):
                self.block = one.play(None, 0)

    def play(self, weights: Any, version: int) -> tuple[Any, float]:
        """See `retro_agents.experience.actors.Actor`."""
        return self.block, time.process_time()


def store(seconds: float, address: str, *, ordered: int = ORDERS[0], whole: bool = True) -> Row:
    """Send blocks and weights through Ray, with `ordered` open orders: CPU time of both sides."""
    from impala.training import Training
    from retro_agents.experience.actors import ray_actors

    config = config_for(1, address)
    make, agent = partial(Echo, config, whole), Training(config).agent
    with ray_actors(
        make, agent.arrays, settings=config.acting, version=0, start=0, ahead=ordered - 1
    ) as actors:
        sides: list[float] = []
        for number in count():
            played = actors.next()
            sides.append(played.block[1])
            actors.order(0, number)
            if number == ordered + WARM_UP:
                first, wall, cpu = number, time.perf_counter(), time.process_time()
            elif number > ordered + WARM_UP and time.perf_counter() - wall > seconds:
                break
        blocks = number - first
        return {
            "take_cpu_ms": 1000.0 * (time.process_time() - cpu) / blocks,
            "send_cpu_ms": 1000.0 * (sides[-1] - sides[first]) / blocks,
            "blocks_per_second": blocks / (time.perf_counter() - wall),
        }


def whole(actors: int, seconds: float, address: str) -> Row:
    """The trainer's own loop. A `stretch` is the time in which a process ran or waited for a core,
    divided by that in which it ran."""
    from impala.train import run
    from retro_agents.experience.actors import LocalActor, RayActors
    from retro_agents.games.families import make_for

    kind: Any = RayActors if actors else LocalActor
    take = kind.next
    lags: list[int] = []
    clocks: list[list[Any]] = []
    pids: list[int] = []

    def now(self: Any) -> list[Any]:
        if actors and not pids:
            calls = [one.__ray_call__.remote(lambda _: os.getpid()) for one in self.processes]
            pids.extend(self.ray.get(calls))
        return [len(lags), time.perf_counter(), *map(scheduled, [os.getpid(), *pids])]

    def watched(self: Any) -> Any:
        played = take(self)
        if clocks:
            turn = time.perf_counter() - clocks[0][1] > seconds
        else:
            turn = len(lags) >= WARM_UP * max(actors, 1)
        if turn:
            clocks.append(now(self))
            if len(clocks) == 2:
                raise TimeOver
        lags.append(len(lags) - played.version)
        return played

    config = config_for(actors, address)
    envs: Any = None if actors else make_for(config)
    with ExitStack() as stack:
        stack.enter_context(patch.object(kind, "next", watched))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        if envs:
            stack.enter_context(closing(envs))
        with suppress(TimeOver):
            run(envs, config, Path(folder) / "run")
    blocks, wall, *sides = (after - before for before, after in zip(*clocks, strict=True))
    row: Row = {"steps_per_second": blocks * config.batch_size / wall}
    row["lag"] = float(np.mean(lags[-blocks:]))
    for name, side in {"learner": sides[:1], "actors": sides[1:]}.items():
        if side:
            ran, waited = np.sum(side, axis=0)
            row[f"{name}_cpu_ms"] = 1000.0 * ran / blocks
            row[f"{name}_stretch"] = (ran + waited) / ran
    return row


def run_here(case: str, options: Options) -> Row:
    kind, _, number = case.partition("-")
    seconds, address = options.seconds, options.ray_address
    if kind == "run":
        return whole(int(number), seconds, address)
    if kind == "orders":
        return store(seconds, address, ordered=int(number), whole=False)
    if kind == "store":
        return store(seconds, address)
    return player(seconds) if kind == "player" else learner(seconds)


def simulate(
    costs: Costs, *, actors: int, ahead: int = 1, gigabits: float = inf, blocks: int = 4000
) -> Row:
    """Simulates a learner, and actors with a core each, as in `retro_agents.experience.actors`. An
    actor has ahead + 1 orders, plays their blocks in turn, and gets a new order when the learner
    has learned from one of its blocks. Of the blocks that have arrived, the learner takes the one
    ordered first. Its network carries one block at a time in, and one set of weights out."""
    latency, rate = (0.0, inf) if gigabits == inf else (LATENCY, gigabits * 1e9 / 8)
    orders = count()
    now = out = came_in = idle = 0.0
    free = [0.0] * actors
    playing: list[tuple[float, int, int, int]] = []  # by end: order, actor, version
    coming: deque[tuple[float, int, int, int]] = deque()  # by arrival
    there: list[tuple[int, int, int]] = []  # by order: actor, version
    lags, most = [], 0

    def order(actor: int, version: int) -> None:
        nonlocal out
        out = max(out, now) + costs.weights_bytes / rate
        free[actor] = max(free[actor], out + latency) + costs.play
        heapq.heappush(playing, (free[actor], next(orders), actor, version))

    for actor in range(actors):
        for _ in range(ahead + 1):
            order(actor, 0)
    for version in range(blocks):
        if version == blocks // 2:  # the first half is a warm-up
            began, idle = now, 0.0
        while True:
            while playing and playing[0][0] <= now:
                end, number, actor, played_with = heapq.heappop(playing)
                came_in = max(came_in, end) + costs.block_bytes / rate
                coming.append((came_in + latency, number, actor, played_with))
            while coming and coming[0][0] <= now:
                heapq.heappush(there, coming.popleft()[1:])
            if there:
                break
            soonest = min(line[0][0] for line in (playing, coming) if line)
            idle, now = idle + soonest - now, soonest
        most = max(most, len(there))
        _, actor, played_with = heapq.heappop(there)
        lags.append(version - played_with)
        now += costs.take + costs.learn
        order(actor, version + 1)
    each = (now - began) / (blocks - blocks // 2)
    return {
        "steps_per_second": costs.steps / each,
        "learner_busy": 1.0 - idle / (now - began),
        "store_share": costs.take / each,
        "actors_busy": costs.play / each / actors,
        "network_busy": max(costs.block_bytes, costs.weights_bytes) / rate / each,
        "lag": float(np.mean(lags[blocks // 2 :])),
        "waiting_mib": most * costs.block_bytes / 2**20,
    }


def costs_of(repeat: Repeat, *, actors: int, faster: float = 1.0) -> Costs:
    """Costs from the measured CPU time. Each reception checks all ordered blocks."""
    one, through = repeat["player"], repeat["store"]
    few, many = (repeat[f"orders-{n}"]["take_cpu_ms"] for n in ORDERS)
    more = max(0.0, many - few) / (ORDERS[1] - ORDERS[0]) * 2 * (actors - 1)
    return Costs(
        play=(one["block_cpu_ms"] + through["send_cpu_ms"]) / 1000.0,
        learn=repeat["learner"]["block_cpu_ms"] / 1000.0 / faster,
        take=(through["take_cpu_ms"] + more) / 1000.0,
        steps=int(one["steps"]),
        block_bytes=one["block_bytes"],
        weights_bytes=one["weights_bytes"],
    )


def as_measured(repeat: Repeat, actors: int) -> float:
    """Steps per second that a run would have from its parts, each slowed down by the factor by
    which the run's own processes waited for a core."""
    costs, row = costs_of(repeat, actors=max(actors, 1)), repeat[f"run-{actors}"]
    slow = row["learner_stretch"]
    if not actors:
        return costs.steps / (repeat["player"]["block_cpu_ms"] / 1000.0 + costs.learn) / slow
    own = costs._replace(
        play=costs.play * row["actors_stretch"], learn=costs.learn * slow, take=costs.take * slow
    )
    return simulate(own, actors=actors)["steps_per_second"]


def limit(row: Row) -> str:
    """The part that is busy all or most of the time."""
    learning = row["learner_busy"] - row["store_share"]
    shares = {name: row[f"{name}_busy"] for name in ("learner", "network", "actors")}
    most = max(shares.items(), key=lambda share: share[1])[0]
    return "store" if most == "learner" and row["store_share"] > learning else most


def table(repeats: list[Repeat], options: Options) -> Rows:
    """Medians per case; runs beside their parts' prediction; and many simulated actors."""
    rows = cases.median_cases(repeats)
    found = {row["case"]: row for row in rows}
    if set(PARTS) - set(found):
        return rows
    for actors in (0, 2):
        if f"run-{actors}" in found:
            values = [
                as_measured(r, actors) / r[f"run-{actors}"]["steps_per_second"] for r in repeats
            ]
            rows += cases.median_row({"ratio": f"simulated/run-{actors}"}, values)
    for faster in TIMES_FASTER:
        for network, gigabits in NETWORKS.items():
            for actors in COUNTS:
                costs = costs_of(found, actors=actors, faster=faster)
                row = simulate(costs, actors=actors, gigabits=gigabits)
                label = {"actors": actors, "network": network, "learner": faster}
                shown = {name: round(value, 3) for name, value in row.items()}
                rows.append({**label, **shown, "limit": limit(row)})
    return rows


one: Any = {"environment": {"OMP_NUM_THREADS": "1"}, "ray_address": ""}
main = cases.benchmark("actors", __doc__, CASES, here=run_here, table=table, seconds=10.0, **one)

if __name__ == "__main__":
    main()
