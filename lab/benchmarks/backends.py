"""Trainers end to end with both back ends, and the parts that take their time.

Cases and aims: docs/contribute/benchmarks.md.
"""

import importlib
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

from lab.benchmarks import cases
from lab.benchmarks.cases import BACKENDS, Options, Repeat, Row, Rows
from lab.benchmarks.parts import cpu_with, preset_config, run_until
from lab.benchmarks.peers.stopwatch import LEVEL, Stopwatch
from retro_agents.games.families import make_for

RUNS: dict[str, tuple[str, str, dict[str, object]]] = {
    "ppo2-fast": ("ppo2", "fast", {"levels": "bramble-train"}),
    "rainbow-laptop": ("rainbow", "laptop", {"levels": "bramble-train"}),
    "jerk-mutating": ("jerk", "mutating", {"levels": LEVEL, "num_envs": 1}),
    "jerk-recovering": ("jerk", "recovering", {"levels": LEVEL, "num_envs": 1}),
}
"""Name -> agent, preset, further flags."""
PARTS = {
    "ppo2": {
        "acting": "retro_agents.experience.collector.Collector.act",
        "learning": "ppo2.training.Training.learn",
    },
    "rainbow": {
        "acting": "rainbow.agent.RainbowAgent.act",
        "learning": "rainbow.training.Training.update",
    },
    "jerk": {"acting": "jerk.search.Search.actions", "learning": "jerk.training.Training.end"},
}
"""Agent -> the functions of its loop that are timed apart from the environments."""
CASES = [f"{name}-{backend}" for name in RUNS for backend in reversed(BACKENDS)]
BLOCK = 1024
"""Agent steps of a rollout of the preset `fast`: the clock starts and stops at multiples."""
WARM_UP = 4 * BLOCK
"""Agent steps before the clock starts."""


class Shares:
    """Wall-clock time of parts of a loop, and of the rest."""

    def __init__(self) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Measures a block, or each call of a function that this decorates."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.spent[part] += time.perf_counter() - begin

    def of(self, wall: float) -> Row:
        """Each part's share of these seconds, and the rest's."""
        shares = {f"{name}_share": spent / wall for name, spent in sorted(self.spent.items())}
        return {**shares, "rest_share": 1.0 - sum(shares.values())}


def whole(agent: str, preset: str, *, seconds: float, **flags: object) -> Row:
    """A trainer's own loop, as its command would run it."""
    package = importlib.import_module(f"{agent}.train")
    config = preset_config(package.parse, preset, **flags)
    envs: Any = make_for(config)
    clock, shares = Stopwatch(seconds, WARM_UP, cpu=cpu_with(envs.workers)), Shares()

    def over(steps: int) -> bool:
        done = steps % BLOCK == 0 and clock.tick(BLOCK)
        if clock.began == steps:
            shares.spent.clear()
        return done

    envs.step_async = shares.timed("environment")(envs.step_async)
    envs.step_wait = shares.timed("environment")(envs.step_wait)
    with ExitStack() as stack:
        for part, place in PARTS[agent].items():
            stack.enter_context(patch(place, shares.timed(part)(resolve_name(place))))
        run_until(over, package.run, envs, config)
    return {**clock.result(), **shares.of(clock.end[0] - clock.start[0])}


def run_here(case: str, options: Options) -> Row:
    name, _, backend = case.rpartition("-")
    agent, preset, flags = RUNS[name]
    return whole(agent, preset, seconds=options.seconds, backend=backend, **flags)


def table(repeats: list[Repeat], options: Options) -> Rows:
    """Medians per case, then native over emulator, by the clock and by CPU time."""
    ratios = [(f"{name}-native", f"{name}-emulator", None) for name in RUNS]
    rows = [*cases.median_cases(repeats), *cases.ratio_rows(repeats, ratios)]
    return [*rows, *cases.ratio_rows(repeats, ratios, cpu=True)]


one = {"OMP_NUM_THREADS": "1"}
more: Any = {"repeats": 2, "seconds": 20.0}
main = cases.benchmark(
    "backends", __doc__, CASES, here=run_here, table=table, environment=one, **more
)

if __name__ == "__main__":
    main()
