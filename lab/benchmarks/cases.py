"""The frame of every benchmark: cases in separate processes, medians, ratios beside their aims."""

import argparse
import json
import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lab.benchmarks.peers.stopwatch import WORKERS
from retro_agents.ground.errors import Parser, UserError, command
from retro_agents.ground.processes import ended
from retro_agents.ground.results import ROOT, write_result
from retro_agents.run.environments import python_of
from retro_agents.run.fields import flag_of

THREADS = (1, 2)
BACKENDS = ("emulator", "native")
"""Back ends that play the level; the first is the default, and has no suffix in results."""
RESULTS = Path(__file__).parent / "results"
Row = dict[str, Any]
Repeat = dict[str, Row]
"""Case -> what was measured, once."""
Rows = list[Row]
Ratios = Sequence[tuple[str, str, float | None]]
"""A case or the prefix NAME- of cases, the same of the denominator, and the aim."""
Options = argparse.Namespace
NONE: Mapping[str, Any] = MappingProxyType({})


def benchmark(
    name: str,
    text: str | None,
    cases: Sequence[str],
    *,
    table: Callable[[list[Repeat], Options], Rows] = lambda repeats, _: median_cases(repeats),
    here: Callable[[str, Options], Row] | None = None,
    peers: Mapping[str, Callable[[Options], list[str]]] = NONE,
    measure: Callable[[list[str], Options], Repeat] | None = None,
    repeats: int = 3,
    suffix: str = "",
    environment: Mapping[str, str] = NONE,
    **more: float | str | tuple[str, ...] | None,
) -> Callable[[], None]:
    """The `main` of `python -m lab.benchmarks.NAME`; `text` is its module's.

    table: rows of all repeats, by default medians. here: measures a case in this process, which is
    started for it; peers: the commands of cases that run elsewhere. measure: measures the cases of
    a repeat, if separate processes do not suit. suffix: of the result's name. environment: of these
    processes. more: further options and their defaults, such as seconds=15.0; None: a path; several
    words: one of them, by default the first. A result names its `backend` if there is that option.
    The exit code is 1 if a row has a `first_difference`. Raises UserError if an option is wrong, or
    if a case fails.
    """

    @command
    def main() -> None:
        own = [case for case in cases if case not in peers] if here else []
        options = options_of(name, text, own, repeats=repeats, suffix=suffix, more=more)
        if here and options.case:
            if options.write:
                raise UserError("--write stores all cases: leave out --case, or --write")
            print(json.dumps(here(options.case, options)), flush=True)
            return
        given = [f"{flag_of(option)}={getattr(options, option)}" for option in more]
        mine = [sys.executable, "-m", f"lab.benchmarks.{name}", *given, "--case"]

        def each(wanted: list[str], options: Options) -> Repeat:
            lines = {c: peers[c](options) if c in peers else [*mine, c] for c in wanted}
            return {c: in_own_process(c, line, **environment) for c, line in lines.items()}

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
        if any("first_difference" in row for row in rows):
            raise SystemExit(1)

    return main


def options_of(
    name: str,
    text: str | None,
    own: Sequence[str],
    *,
    repeats: int,
    suffix: str,
    more: Mapping[str, float | str | tuple[str, ...] | None],
) -> Options:
    """The command line's options; own: the cases that --case accepts. The rest as in `benchmark`.
    Raises UserError if an option is wrong."""
    parser = Parser(prog=f"python -m lab.benchmarks.{name}", description=text)
    add = parser.add_argument
    add("--repeats", type=int, default=repeats, help=f"of all cases (default: {repeats})")
    add("--write", action="store_true", help=f"store in results/{name}{suffix}.json")
    if own:
        add("--case", choices=own, help="measure one case, in this process")
    add("--only", nargs="+", default=[""], help="cases that begin with one of these")
    for option, default in more.items():
        kind: dict[str, Any] = {"type": Path if default is None else type(default)}
        first = default
        if isinstance(default, tuple):
            first, kind = default[0], {"choices": default}
        shown = "none" if first is None else first
        add(flag_of(option), default=first, help=f"(default: {shown})", **kind)
    options = parser.parse_args()
    for option in ("repeats", *more):
        value = getattr(options, option)
        if isinstance(value, int | float) and not 0 < value < math.inf:
            raise UserError(
                f"{flag_of(option)}: expected a number above 0, not {value}; see --help"
            )
    return options


def chosen(cases: Sequence[str], options: Options) -> list[str]:
    """The cases that --only selects. Raises UserError if one is unknown or excludes --write."""
    for prefix in options.only:
        if not any(case.startswith(prefix) for case in cases):
            raise UserError(f"no case begins with {prefix!r}; cases: {', '.join(cases)}")
    found = [case for case in cases if case.startswith(tuple(options.only))]
    if options.write and len(found) < len(cases):
        raise UserError("--write stores a whole result, and --only a part of it; leave one out")
    return found


def peer_python(name: str, *, with_torch: bool = True) -> Path:
    """The Python of a peer's own environment, which peers/NAME.txt pins; see `python_of`."""
    return python_of(Path(__file__).parent / "peers" / f"{name}.txt", with_torch=with_torch)


def peer_commands(peers: Mapping[str, tuple[str, str, list[str]]]) -> dict[str, Any]:
    """Case -> the command that measures it and prints its row last. peers: name -> environment ("":
    this one), module, and further arguments; each is measured with 1 and with 2 threads."""

    def line(name: str, threads: int, options: Options) -> list[str]:
        environment, module, more = peers[name]
        python = str(peer_python(environment)) if environment else sys.executable
        same = ["--seconds", str(options.seconds), "--backend", options.backend]
        same += ["--threads", str(threads)]
        return [python, "-m", f"lab.benchmarks.peers.{module}", *same, *more]

    return {f"{name}-{n}": partial(line, name, n) for name in peers for n in THREADS}


def precisions() -> tuple[tuple[str, ...], str]:
    """Precisions to measure on a CPU, with bf16 if it has instructions for it; and the suffix of
    the result's name, because machines with and without have separate results."""
    import torch  # takes seconds to import

    from retro_agents.ground.device import computes_in_bf16

    both = computes_in_bf16("auto", torch.device("cpu"))
    return (("bf16", "fp32"), "") if both else (("fp32",), "_fp32")


def setting_of(case: str, options: Options) -> tuple[str, dict[str, Any]]:
    """The name of a case NAME-PRECISION-THREADS, and its trainer's settings."""
    name, precision, threads = case.split("-")
    setting = {"precision": precision, "torch_threads": int(threads), "backend": options.backend}
    return name, {**setting, "num_envs": WORKERS}


def said_by(
    case: str, argv: Sequence[str], *, cwd: Path | str = ROOT, **environment: str
) -> tuple[str, float]:
    """Run a command -> its output and its CPU seconds. Raises UserError if it fails."""
    variables = {"PYTHONPATH": str(ROOT), **environment}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        try:
            exit_code, cpu = ended(argv, out, errors=errors, cwd=cwd, environment=variables)
        except FileNotFoundError:
            raise UserError(
                f"case {case} needs {argv[0]}, which is not there: run scripts/install"
            ) from None
        out.seek(0), errors.seek(0)
        if exit_code:
            raise UserError(f"case {case} failed: {errors.read().strip()[-2000:]}")
        return out.read(), cpu


def in_own_process(case: str, argv: Sequence[str], **environment: str) -> Row:
    """The row that a command prints last. Raises UserError if it fails."""
    row: Row = json.loads(said_by(case, argv, **environment)[0].splitlines()[-1])
    return row


def median_cases(repeats: Sequence[Repeat]) -> Rows:
    """One row per case: the median of each number."""
    rows = []
    for case, names in repeats[0].items():
        medians = {n: statistics.median(repeat[case][n] for repeat in repeats) for n in names}
        rows.append({"case": case, **{name: round(value, 4) for name, value in medians.items()}})
    return rows


def median_row(label: dict[str, str], values: Sequence[float | None], **aim: float | None) -> Rows:
    """One row with its aim, if any; no row if nothing was measured."""
    found = [round(value, 3) for value in values if value is not None]
    if not found:
        return []
    aims = {name: value for name, value in aim.items() if value is not None}
    return [{**label, "value": statistics.median(found), "all": found, **aims}]


def quotient(
    repeat: Repeat, above: str, below: str, metric: str = "", *, best: Any = max
) -> float | None:
    """The best of the cases that begin with `above`, or the one with that name, divided by the best
    of those with `below`; by `metric`, or their first number. None if one was not measured."""
    found = []
    for prefix in (above, below):
        alike = [row for case, row in repeat.items() if case.startswith(prefix)]
        rows = [repeat[prefix]] if prefix in repeat else alike
        if not rows:
            return None
        found.append(best(row[metric or next(iter(row))] for row in rows))
    return float(found[0] / found[1])


def label_of(cases: str) -> str:
    """How a ratio names a case, or the cases that begin so: NAME-fp32- is NAME_fp32."""
    return cases.rstrip("-").replace("-", "_") if cases.endswith("-") else cases


def ratio_rows(repeats: Sequence[Repeat], ratios: Ratios, *, cpu: bool = False) -> Rows:
    """Quotients within repeats; cpu: CPU time per step of the second cases over the first ones',
    each of the cheapest case."""
    rows: Rows = []
    for above, below, aim in ratios:
        name, other = label_of(above), label_of(below)
        label = {"ratio": f"{other}_cpu/{name}_cpu" if cpu else f"{name}/{other}"}
        kinds: Any = (below, above, "cpu_ms_per_step") if cpu else (above, below)
        values = [quotient(repeat, *kinds, best=min if cpu else max) for repeat in repeats]
        rows += median_row(label, values, at_least=aim)
    return rows


def limit_rows(repeats: Sequence[Repeat], limits: Sequence[tuple[str, str, str, float]]) -> Rows:
    """Numbers beside their limits: case, metric, at_most or at_least, and the limit."""
    rows: Rows = []
    for case, metric, sense, aim in limits:
        values = [repeat.get(case, {}).get(metric) for repeat in repeats]
        rows += median_row({"limit": f"{case} {metric}"}, values, **{sense: aim})
    return rows
