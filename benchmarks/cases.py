"""What every benchmark does: cases in processes of their own, medians, ratios beside their aims."""

import argparse
import json
import math
import os
import statistics
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, final

from experiment.errors import UserError
from experiment.results import ROOT, write_result

RESULTS = Path(__file__).parent / "results"
Row = dict[str, float]
Repeat = dict[str, Row]
"""Case -> what was measured, once."""
PART = "--write stores a whole result, and --only measures a part of it; leave one of them out"
"""What is said where both are given."""


def precisions() -> tuple[str, ...]:
    """What is measured on a CPU: bf16 too where it has instructions for that."""
    import torch  # takes seconds to import

    from experiment.device import computes_in_bf16

    return ("bf16", "fp32") if computes_in_bf16("auto", torch.device("cpu")) else ("fp32",)


def suffix_of(measured: Sequence[str]) -> str:
    """What the result's name ends in: machines with and without bf16 have a result each."""
    return "" if "bf16" in measured else "_fp32"


def in_own_process(case: str, argv: Sequence[str], **environment: str) -> dict[str, Any]:
    """Run a command in the project's folder -> the row it prints last. UserError: it failed."""
    done = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )
    if done.returncode:
        raise UserError(f"case {case} failed: {done.stderr.strip()[-2000:]}")
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def median_cases(repeats: Sequence[Repeat]) -> list[dict[str, Any]]:
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


def median_row(
    label: dict[str, str], values: Sequence[float | None], **aim: float | None
) -> list[dict[str, Any]]:
    """One row with its aim, if it has one; no row where nothing was measured."""
    found = [round(value, 3) for value in values if value is not None]
    if not found:
        return []
    aims = {name: value for name, value in aim.items() if value is not None}
    return [{**label, "value": statistics.median(found), "all": found, **aims}]


@final
class Parser(argparse.ArgumentParser):
    """Options of which a wrong one is a UserError."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; see --help")


def above_zero(kind: Callable[[str], float]) -> Callable[[str], float]:
    """A reader of an option's number. kind: int or float. Errors: ArgumentTypeError."""

    def read(text: str) -> float:
        try:
            number = kind(text)
        except ValueError:
            number = 0
        if not 0 < number < math.inf:
            what = "a whole number" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"expected {what} above 0, not {text!r}")
        return number

    return read


def make_parser(name: str, text: str | None, *, repeats: int = 3, suffix: str = "") -> Parser:
    """The options that all benchmarks have; `text` is the module's, `suffix` its result's."""
    parser = Parser(
        prog=f"python -m benchmarks.{name}",
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    help_ = f"of all cases (default: {repeats})"
    parser.add_argument("--repeats", type=above_zero(int), default=repeats, help=help_)
    parser.add_argument(
        "--write", action="store_true", help=f"store in results/{name}{suffix}.json"
    )
    return parser


def add_seconds(parser: Parser, seconds: float = 15.0) -> None:
    """--seconds S."""
    help_ = f"per case (default: {seconds:g})"
    parser.add_argument("--seconds", type=above_zero(float), default=seconds, help=help_)


def add_choice(parser: Parser, cases: Sequence[str]) -> None:
    """--case NAME and --only PREFIX…"""
    parser.add_argument("--case", choices=cases, help="measure one case, in this process")
    add_only(parser)


def add_only(parser: Parser) -> None:
    """--only PREFIX…"""
    help_ = "cases that begin with one of these"
    parser.add_argument("--only", nargs="+", default=[""], help=help_)


def chosen(cases: Sequence[str], options: argparse.Namespace) -> list[str]:
    """The cases that --only names. UserError: one that is none, or a part is to be stored."""
    for prefix in options.only:
        if not any(case.startswith(prefix) for case in cases):
            raise UserError(f"no case begins with {prefix!r}; cases: {', '.join(cases)}")
    found = [case for case in cases if case.startswith(tuple(options.only))]
    if options.write and len(found) < len(cases):
        raise UserError(PART)
    return found


def report(name: str, rows: Sequence[dict[str, Any]], *, write: bool, suffix: str = "") -> None:
    """Print the rows, and store them."""
    for row in rows:
        print(json.dumps(row))
    if write:
        store_rows(name, rows, suffix=suffix)


def store_rows(name: str, rows: Sequence[dict[str, Any]], *, suffix: str = "") -> None:
    """Keep the rows of benchmarks.NAME as a result."""
    path = RESULTS / f"{name}{suffix}.json"
    write_result(path, {"rows": list(rows)}, module=f"benchmarks.{name}")
