"""Trainers end to end with both back ends, and where their time goes.

Cases: lab/benchmarks/cases.md; aims: lab/benchmarks/README.md.
"""

import importlib
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

from lab.benchmarks import cases
from lab.benchmarks.cases import BACKENDS, Options, Repeat, Row, Rows
from lab.benchmarks.parts import TimeOver, cpu_seconds, preset_config
from lab.benchmarks.peers.stopwatch import LEVEL
from retro_agents.games.families import make_for
from retro_agents.ground.errors import command

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
        "learning": "ppo2.train.learn",
    },
    "rainbow": {
        "acting": "rainbow.agent.RainbowAgent.act",
        "learning": "rainbow.train.Training.update",
    },
    "jerk": {"acting": "jerk.search.Search.actions", "learning": "jerk.train.Training.end"},
}
"""Agent -> the functions of its loop whose time is told apart from the environments'."""
CASES = [f"{name}-{backend}" for name in RUNS for backend in reversed(BACKENDS)]
BLOCK = 1024
"""Agent steps of a rollout of the preset `fast`: the clock starts and stops at multiples."""
WARM_UP = 4 * BLOCK
"""Agent steps before it starts."""


@dataclass
class Clock:
    """Counts agent steps, and seconds of the parts of a run."""

    seconds: float
    workers: list[int]
    steps: int = 0
    spent: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    start: tuple[float, float] = (0.0, 0.0)
    end: tuple[float, float] = (0.0, 0.0)

    def now(self) -> tuple[float, float]:
        """Seconds by the clock; CPU seconds of this process and the workers."""
        return time.perf_counter(), time.process_time() + cpu_seconds(self.workers)

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """That function, its time counted."""

        @wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            begin = time.perf_counter()
            try:
                return function(*args, **options)
            finally:
                self.spent[part] += time.perf_counter() - begin

        return call

    def count(self, steps: int) -> None:
        """Steps are taken. TimeOver: enough of them."""
        self.steps += steps
        if self.steps % BLOCK or self.steps < WARM_UP:
            return
        if self.steps == WARM_UP:
            self.spent.clear()
            self.start = self.now()
        else:
            self.end = self.now()
            if self.end[0] - self.start[0] >= self.seconds:
                raise TimeOver

    def result(self) -> Row:
        """Rates since the warm-up, and each part's share of the time by the clock."""
        wall, cpu = (end - start for end, start in zip(self.end, self.start, strict=True))
        steps = self.steps - WARM_UP
        shares = {f"{name}_share": self.spent[name] / wall for name in sorted(self.spent)}
        return {
            "steps_per_second": steps / wall,
            "cpu_ms_per_step": 1000.0 * cpu / steps,
            **shares,
            "rest_share": 1.0 - sum(shares.values()),
        }


def whole(agent: str, preset: str, *, seconds: float, **flags: object) -> Row:
    """A trainer's own loop, as its command would run it."""
    package = importlib.import_module(f"{agent}.train")
    config = preset_config(package.parse, preset, **flags)
    envs: Any = make_for(config)
    clock = Clock(seconds, envs.workers)
    wait = clock.timed("environment", envs.step_wait)

    def step_wait(part: slice | None = None) -> Any:
        found = wait(part)
        clock.count(len(range(envs.num_envs)[part or slice(None)]))
        return found

    envs.step_async = clock.timed("environment", envs.step_async)
    envs.step_wait = step_wait
    with ExitStack() as stack:
        stack.enter_context(closing(envs))
        for part, place in PARTS[agent].items():
            stack.enter_context(patch(place, clock.timed(part, resolve_name(place))))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        with suppress(TimeOver):
            package.run(envs, config, Path(folder) / "run")
        return clock.result()


def run_here(case: str, options: Options) -> Row:
    """Measure a case in this process."""
    name, _, backend = case.rpartition("-")
    agent, preset, flags = RUNS[name]
    return whole(agent, preset, seconds=options.seconds, backend=backend, **flags)


def table(repeats: list[Repeat], options: Options) -> Rows:
    """Medians per case, then native over emulator, by the clock and by CPU time."""
    ratios: list[tuple[str, str, str, float | None]]
    ratios = [(f"{name}-native", f"{name}-native", f"{name}-emulator", None) for name in RUNS]
    rows = [*cases.median_cases(repeats), *cases.ratio_rows(repeats, ratios)]
    for name, above, below, _ in ratios:
        by_cpu = [cases.quotient(r, below, above, "cpu_ms_per_step", best=min) for r in repeats]
        rows += cases.median_row({"ratio": f"{below}_cpu/{name}_cpu"}, by_cpu)
    return rows


@command
def main() -> None:
    """The command line."""
    one = {"OMP_NUM_THREADS": "1"}
    more: Any = {"repeats": 2, "seconds": 20.0}
    cases.run("backends", __doc__, CASES, here=run_here, table=table, environment=one, **more)


if __name__ == "__main__":
    main()
