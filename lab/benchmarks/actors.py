"""Speed of IMPALA with actors: a player, the learner and Ray's store apart, and whole runs.

Cases: docs/contribute/benchmarks.md. It needs the extra `actors`, that is, Ray.
"""

import os
import tempfile
import time
from contextlib import ExitStack, closing, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from lab.benchmarks import cases
from lab.benchmarks.cases import Options, Row
from lab.benchmarks.parts import TimeOver, preset_config, scheduled, timed

ENVS = 8
"""Environments of each player: a block is then one batch of the preset `fast`."""
ORDERED = 2
"""Blocks ordered at a time: those of one actor."""
CASES = ["player", "learner", "store", "run-0", "run-2"]
WARM_UP = 2
"""Blocks of each player before the clock starts."""


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

    def __init__(self, config: Any, index: int, start: int) -> None:
        from impala.actors import make_actor

        one = make_actor(config, index, start)
        with closing(one.envs):
            self.block = one.play(None, 0)

    def play(self, weights: Any, version: int) -> tuple[Any, float]:
        """See `retro_agents.experience.actors.Actor`."""
        return self.block, time.process_time()


def store(seconds: float, address: str) -> Row:
    """Send blocks and weights through Ray: CPU time of both sides."""
    from impala.training import Training
    from retro_agents.experience.actors import ray_actors

    config = config_for(1, address)
    make, agent = partial(Echo, config), Training(config).agent
    with ray_actors(
        make, agent.arrays, settings=config.acting, version=0, start=0, ahead=ORDERED - 1
    ) as actors:
        sides: list[float] = []
        for number in count():
            played = actors.next()
            sides.append(played.block[1])
            actors.order(0, number)
            if number == ORDERED + WARM_UP:
                first, wall, cpu = number, time.perf_counter(), time.process_time()
            elif number > ORDERED + WARM_UP and time.perf_counter() - wall > seconds:
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
    if kind == "store":
        return store(seconds, address)
    return player(seconds) if kind == "player" else learner(seconds)


one: Any = {"environment": {"OMP_NUM_THREADS": "1"}, "ray_address": ""}
main = cases.benchmark("actors", __doc__, CASES, here=run_here, seconds=10.0, **one)

if __name__ == "__main__":
    main()
