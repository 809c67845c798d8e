"""What the studio costs: the training that it watches, a core while nobody looks, and time to open.

Cases and aims: docs/contribute/benchmarks.md. It needs the extra `studio` and the built page.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.cookiejar import CookieJar
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import msgspec

from lab.benchmarks import cases
from lab.benchmarks.backends import BLOCK, WARM_UP
from lab.benchmarks.cases import Options, Repeat, Row, Rows
from lab.benchmarks.parts import cpu_seconds, cpu_with, preset_config, run_until
from retro_agents.games.families import make_for
from retro_agents.ground.errors import UserError
from retro_agents.ground.results import ROOT
from retro_agents.ground.statistics import t_interval

CASES = ("training", "idle", "open")
RUNS, STEPS = 200, 1_000_000
COLUMNS = ("episodes/r", "episodes/finished", "metrics/entropy", "metrics/value_loss")
"""What the page draws of a run; it asks every EVERY seconds (web/src/studio/runs.ts)."""
EVERY = 2.0
SETTLE = 2
"""Blocks after each change that are not counted."""


class Page:
    """Asks a studio what its page of runs asks for."""

    def __init__(self, address: str) -> None:
        self.base = address.partition("?")[0]
        self.opener = build_opener(HTTPCookieProcessor(CookieJar()))
        self.opener.open(address).close()

    def ask(self, what: str, **query: Any) -> Any:
        """An answer; None if nothing is new."""
        with self.opener.open(f"{self.base}api/{what}?{urlencode(query, True)}") as answer:
            found = answer.read()
        return msgspec.json.decode(found) if found else None

    def look(self, version: str) -> str:
        """Look once, with the first run open and drawn -> the version that is seen."""
        if (found := self.ask("runs", since=version)) is None:
            return version
        if run := [row["id"] for row in found["rows"]][:1]:
            self.ask("columns", run=run)
            for column in COLUMNS:
                self.ask("curves", run=run, column=column, window=20)
            self.ask("run", run=run)
            self.ask("configs", run=run)
        return str(found["version"])


def visit(address: str) -> None:
    """Look every EVERY seconds."""
    page, version = Page(address), ""
    while True:
        version = page.look(version)
        time.sleep(EVERY)


@contextmanager
def studio(runs: Path, *, watched: bool = False) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A studio in a process group of its own, with a page if it is watched -> its process and
    address. Raises UserError if it does not start."""
    words = ["-m", "retro_agents.studio", str(runs), "--port", "0", "--no-browser"]
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, text=True, process_group=0, cwd=ROOT
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http:\S+", process.stdout.readline())
        if found is None:
            raise UserError("the studio does not start; what it said is above")
        if watched:
            code = f"from lab.benchmarks.studio import visit; visit({found[0]!r})"
            subprocess.Popen([sys.executable, "-c", code], process_group=process.pid, cwd=ROOT)
        yield process, found[0]
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


Window = tuple[float, float]
"""Seconds, and CPU seconds of the training."""


def windows(count: int, blocks: int, runs: Path) -> list[Window]:
    """One training's windows of so many blocks in turn: alone, watched, watched, alone, and so on.
    The studio is stopped by a signal where it does not watch."""
    from ppo2.train import parse, run

    flags = {"levels": "bramble-train", "backend": "native", "torch_threads": 1}
    config = preset_config(parse, "fast", **flags)
    found, begin = list[Window](), (0.0, 0.0)

    with studio(runs, watched=True) as (process, _):
        envs: Any = make_for(config)
        cpu = cpu_with(envs.workers)

        def over(steps: int) -> bool:
            nonlocal begin
            block, rest = divmod(steps - WARM_UP, BLOCK)
            if rest or block < 0:
                return False
            at, now = block % (SETTLE + blocks), (time.perf_counter(), cpu())
            if at == SETTLE:
                begin = now
            elif at == 0:
                if block:
                    found.append((now[0] - begin[0], now[1] - begin[1]))
                if len(found) == count:
                    return True
                watches = len(found) % 4 in (1, 2)
                os.killpg(process.pid, signal.SIGCONT if watches else signal.SIGSTOP)
            return False

        run_until(over, lambda envs, config, _: run(envs, config, runs / "run"), envs, config)
    return found


def training(options: Options) -> Row:
    """The speed of a training that is watched, relative to alone: mean and interval over pairs."""
    with tempfile.TemporaryDirectory() as runs:
        found = windows(2 * options.pairs, options.blocks, Path(runs))
    row: Row = {"pairs": options.pairs}
    for name, kind in (("steps_per_second", 0), ("steps_per_cpu_second", 1)):
        ratios = []
        for number, (one, other) in enumerate(zip(found[::2], found[1::2], strict=True)):
            alone, watched = (one, other) if number % 2 == 0 else (other, one)
            ratios.append(alone[kind] / watched[kind])
        low, high = t_interval(ratios)
        row |= {name: fmean(ratios), f"{name}_low": low, f"{name}_high": high}
    return row


def make_runs(root: Path) -> None:
    """RUNS runs of STEPS agent steps, as trainings of PPO2 leave them."""
    tables = {
        "metrics": ("step,entropy,value_loss", "{},1.5,0.25", BLOCK),
        "timing": ("step,seconds", "{},1.0", BLOCK),
        "episodes": ("step,env,level,r,l,progress,finished", "{},0,G-v0:Act1,1000,300,0.5,0", 300),
    }
    texts = {
        f"{name}.csv": "\n".join([header, *map(row.format, range(each, STEPS, each)), ""])
        for name, (header, row, each) in tables.items()
    }
    texts["provenance.json"] = '[{"agent": "ppo2", "begun": "2026-01-31T12:00:00+00:00"}]'
    for number in range(RUNS):
        folder = root / f"run-{number}"
        folder.mkdir()
        texts["config.json"] = f'{{"run": {{"timesteps": {STEPS}, "seed": {number}}}}}'
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")


def opens(options: Options) -> Row:
    """Seconds for the rows of all runs, and for their curves over each other, first and again."""
    with tempfile.TemporaryDirectory() as runs:
        make_runs(Path(runs))
        with studio(Path(runs)) as (_, address):
            page, times = Page(address), [time.perf_counter()]
            while len(rows := page.ask("runs")["rows"]) < RUNS:
                pass
            times.append(time.perf_counter())
            for _ in range(2):
                page.ask("curves", run=[row["id"] for row in rows], column="metrics/entropy")
                times.append(time.perf_counter())
    rows_seconds, first, again = (end - begin for begin, end in pairwise(times))
    return {"rows_seconds": rows_seconds, "curves_seconds": first, "again_seconds": again}


def idle(options: Options) -> Row:
    """The share of a core that a studio takes: its page open on runs that do not change, and no
    page open."""
    with tempfile.TemporaryDirectory() as runs:
        make_runs(Path(runs))
        with studio(Path(runs)) as (process, address):
            page, version, row = Page(address), "", dict[str, float]()
            for name in ("open", "closed"):
                version = page.look(version)
                begin, cpu = time.perf_counter(), cpu_seconds(threads_of(process.pid))
                while (passed := time.perf_counter() - begin) < options.seconds:
                    if name == "open":
                        version = page.look(version)
                    time.sleep(EVERY)
                row[f"{name}_share"] = (cpu_seconds(threads_of(process.pid)) - cpu) / passed
    return row


def threads_of(pid: int) -> list[int]:
    """The threads of a process."""
    return [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]


def measured(case: str, options: Options) -> Row:
    return {"training": training, "idle": idle, "open": opens}[case](options)


def table(repeats: list[Repeat], options: Options) -> Rows:
    limits = [
        ("training", "steps_per_second_low", "at_least", 0.97),
        ("training", "steps_per_cpu_second_low", "at_least", 0.97),
        ("idle", "open_share", "at_most", 0.01),
        ("idle", "closed_share", "at_most", 0.01),
        ("open", "rows_seconds", "at_most", 2.0),
        ("open", "curves_seconds", "at_most", 2.0),
    ]
    return [*cases.median_cases(repeats), *cases.limit_rows(repeats, limits)]


more: Any = {"repeats": 1, "seconds": 30.0, "pairs": 16, "blocks": 10}
main = cases.benchmark("studio", __doc__, CASES, here=measured, table=table, **more)

if __name__ == "__main__":
    main()
