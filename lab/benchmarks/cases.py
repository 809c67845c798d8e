"""What every benchmark does: cases in processes of their own, medians, ratios beside their aims."""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lab.benchmarks.peers.environments import peer_python
from retro_agents.ground.errors import Parser, UserError
from retro_agents.ground.results import ROOT, write_result

THREADS = (1, 2)
BACKENDS = ("emulator", "native")
"""What plays the level: peers have the first alone, and older results are of it."""
RESULTS = Path(__file__).parent / "results"
Row = dict[str, float]
Repeat = dict[str, Row]
"""Case -> what was measured, once."""
Rows = list[dict[str, Any]]
Options = argparse.Namespace


def run(
    name: str,
    text: str | None,
    cases: Sequence[str],
    *,
    table: Callable[[list[Repeat], Options], Rows],
    here: Callable[[str, Options], Row] | None = None,
    peers: Mapping[str, Callable[[Options], list[str]]] = MappingProxyType({}),
    measure: Callable[[list[str], Options], Repeat] | None = None,
    repeats: int = 3,
    suffix: str = "",
    environment: Mapping[str, str] = MappingProxyType({}),
    **more: float | tuple[str, ...] | None,
) -> None:
    """The command `python -m lab.benchmarks.NAME`; `text` is its module's.

    table: rows of all repeats. here: measures a case in this process, of its own; peers: the
    commands of those that run elsewhere. measure: measures the cases of a repeat, where processes
    of their own will not do. suffix: of the result's name. environment: of these processes.
    more: further options and their defaults, such as seconds=15.0; None: a path; several words: one
    of them, by default the first. A result names its `backend`, where there is that option.
    UserError: a wrong option, or a case that failed.
    """
    own = [case for case in cases if case not in peers] if here else None
    options = options_of(name, text, own, repeats=repeats, suffix=suffix, more=more)
    if here and options.case:
        if options.write:
            raise UserError("--write stores all cases: leave out --case, or --write")
        print(json.dumps(here(options.case, options)), flush=True)
        return
    each = partial(measure_each, name, peers=peers, environment=environment, more=tuple(more))
    wanted = chosen(cases, options)
    rows = table([(measure or each)(wanted, options) for _ in range(options.repeats)], options)
    for row in rows:
        print(json.dumps(row))
    if options.write:
        backend = vars(options).get("backend")
        ending = f"_{backend}" if backend in BACKENDS[1:] else ""
        content = {"backend": backend} if backend else {}
        path = RESULTS / f"{name}{suffix}{ending}.json"
        write_result(path, {**content, "rows": rows}, module=f"lab.benchmarks.{name}")


def options_of(
    name: str,
    text: str | None,
    own: Sequence[str] | None,
    *,
    repeats: int,
    suffix: str,
    more: Mapping[str, float | tuple[str, ...] | None],
) -> Options:
    """What the command line says; own: the cases that --case may name, None: there is no such
    option. The rest as in `run`. UserError: a wrong option."""
    parser = Parser(
        prog=f"python -m lab.benchmarks.{name}",
        description=text,
    )
    help_ = f"of all cases (default: {repeats})"
    parser.add_argument("--repeats", type=int, default=repeats, help=help_)
    help_ = f"store in results/{name}{suffix}.json"
    parser.add_argument("--write", action="store_true", help=help_)
    if own is not None:
        parser.add_argument("--case", choices=own, help="measure one case, in this process")
    help_ = "cases that begin with one of these"
    parser.add_argument("--only", nargs="+", default=[""], help=help_)
    for option, default in more.items():
        if isinstance(default, tuple):
            help_ = f"(default: {default[0]})"
            parser.add_argument(flag(option), choices=default, default=default[0], help=help_)
            continue
        kind, shown = (Path, "none") if default is None else (type(default), default)
        parser.add_argument(flag(option), type=kind, default=default, help=f"(default: {shown})")
    options = parser.parse_args()
    for option in ("repeats", *more):
        value = getattr(options, option)
        if isinstance(value, int | float) and not 0 < value < math.inf:
            raise UserError(f"{flag(option)}: expected a number above 0, not {value}; see --help")
    return options


def flag(option: str) -> str:
    """What a command line calls it."""
    return f"--{option.replace('_', '-')}"


def measure_each(
    name: str,
    wanted: Sequence[str],
    options: Options,
    *,
    peers: Mapping[str, Callable[[Options], list[str]]],
    environment: Mapping[str, str],
    more: Sequence[str],
) -> Repeat:
    """Each case in a process of its own, with these options; see `run`."""
    given = [f"{flag(option)}={getattr(options, option)}" for option in more]
    mine = [sys.executable, "-m", f"lab.benchmarks.{name}", *given, "--case"]
    lines = {c: peers[c](options) if c in peers else [*mine, c] for c in wanted}
    return {c: in_own_process(c, line, **environment) for c, line in lines.items()}


def chosen(cases: Sequence[str], options: Options) -> list[str]:
    """The cases that --only names. UserError: one that is none, or a part is to be stored."""
    for prefix in options.only:
        if not any(case.startswith(prefix) for case in cases):
            raise UserError(f"no case begins with {prefix!r}; cases: {', '.join(cases)}")
    found = [case for case in cases if case.startswith(tuple(options.only))]
    if options.write and len(found) < len(cases):
        raise UserError("--write stores a whole result, and --only a part of it; leave one out")
    return found


def peer_commands(peers: Mapping[str, tuple[str, str, list[str]]]) -> dict[str, Any]:
    """Case -> the command that measures it and prints its row last. peers: name -> environment ("":
    this one), module, and further arguments; each is measured with 1 and with 2 threads."""

    def line(name: str, threads: int, options: Options) -> list[str]:
        environment, module, more = peers[name]
        python = str(peer_python(environment)) if environment else sys.executable
        same = ["--seconds", str(options.seconds), "--backend", options.backend]
        return [
            python,
            "-m",
            f"lab.benchmarks.peers.{module}",
            *same,
            "--threads",
            str(threads),
            *more,
        ]

    return {f"{name}-{n}": partial(line, name, n) for name in peers for n in THREADS}


def precisions() -> tuple[tuple[str, ...], str]:
    """What is measured on a CPU, bf16 too where it has instructions for that; and what the result's
    name ends in: machines with and without have a result each."""
    import torch  # takes seconds to import

    from retro_agents.ground.device import computes_in_bf16

    both = computes_in_bf16("auto", torch.device("cpu"))
    return (("bf16", "fp32"), "") if both else (("fp32",), "_fp32")


def said_by(case: str, argv: Sequence[str], **environment: str) -> str:
    """Run a command in the project's folder -> what it prints. UserError: it failed."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, cwd=ROOT, env=variables
        )
    except FileNotFoundError:
        raise UserError(
            f"case {case} needs {argv[0]}, which is not there: run scripts/install"
        ) from None
    if done.returncode:
        raise UserError(f"case {case} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def in_own_process(case: str, argv: Sequence[str], **environment: str) -> Row:
    """The row that a command prints last. UserError: it failed."""
    row: Row = json.loads(said_by(case, argv, **environment).splitlines()[-1])
    return row


def median_cases(repeats: Sequence[Repeat]) -> Rows:
    """A row per case: the median of each number."""
    return [
        {
            "case": case,
            **{
                name: round(statistics.median(repeat[case][name] for repeat in repeats), 4)
                for name in names
            },
        }
        for case, names in repeats[0].items()
    ]


def median_row(label: dict[str, str], values: Sequence[float | None], **aim: float | None) -> Rows:
    """One row with its aim, if it has one; no row where nothing was measured."""
    found = [round(value, 3) for value in values if value is not None]
    if not found:
        return []
    aims = {name: value for name, value in aim.items() if value is not None}
    return [{**label, "value": statistics.median(found), "all": found, **aims}]


def quotient(
    repeat: Repeat, above: str, below: str, metric: str = "", *, best: Any = max
) -> float | None:
    """The best of the cases that begin with `above`, or the one of that very name, over the best of
    those with `below`, by their first number or another; None where one was not measured."""
    found = []
    for prefix in (above, below):
        alike = [row for case, row in repeat.items() if case.startswith(prefix)]
        rows = [repeat[prefix]] if prefix in repeat else alike
        if not rows:
            return None
        found.append(best(row[metric or next(iter(row))] for row in rows))
    return float(found[0] / found[1])


def ratio_rows(
    repeats: Sequence[Repeat], ratios: Sequence[tuple[str, str, str, float | None]]
) -> Rows:
    """Quotients within repeats. ratios: name, what its cases begin with, what those that they are
    divided by begin with, and the aim."""
    rows: Rows = []
    for name, above, below, aim in ratios:
        values = [quotient(repeat, above, below) for repeat in repeats]
        rows += median_row({"ratio": f"{name}/{below.rstrip('-')}"}, values, at_least=aim)
    return rows
