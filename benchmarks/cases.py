"""What every benchmark does: cases in processes of their own, medians, ratios beside their aims."""

import argparse
import json
import os
import statistics
import subprocess
from collections.abc import Sequence
from typing import Any

from benchmarks.machine import write_result
from benchmarks.peers.environments import ROOT
from experiment.errors import UserError

Row = dict[str, float]
Repeat = dict[str, Row]
"""Case -> what was measured, once."""


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


def make_parser(name: str, text: str | None, *, repeats: int = 3) -> argparse.ArgumentParser:
    """The options that all benchmarks have; `text` is the module's."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{name}",
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    help_ = f"of all cases (default: {repeats})"
    parser.add_argument("--repeats", type=int, default=repeats, help=help_)
    parser.add_argument("--write", action="store_true", help=f"store in results/{name}.json")
    return parser


def add_choice(parser: argparse.ArgumentParser, cases: Sequence[str]) -> None:
    """--case NAME and --only PREFIX…"""
    parser.add_argument("--case", choices=cases, help="measure one case, in this process")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="cases that begin with one of these"
    )


def report(name: str, rows: Sequence[dict[str, Any]], *, write: bool) -> None:
    """Print the rows, and store them."""
    for row in rows:
        print(json.dumps(row))
    if write:
        write_result(name, {"rows": list(rows)})
