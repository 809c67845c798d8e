"""Small faults, put into a copy of the code one at a time: do the tests notice them?

Each mutant changes one place: a comparison, a sign, a factor, a constant, a condition, or a call
that is left out. Faults drawn from --seed come from the files in AREAS; those chosen by hand are
in lab/mutants.yaml. A mutant is caught if a test of its area fails.
Results: lab/mutants.json. lab/mutants.yaml says why a mutant may survive.
"""

import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import yaml

from retro_agents.ground.errors import UserError, command
from retro_agents.ground.ranges import Natural, Positive, Seed
from retro_agents.ground.results import ROOT, commit, machine, read_result, store
from retro_agents.run.agents import AGENTS
from retro_agents.run.command_line import parse_command

STORED, BY_HAND = ROOT / "lab/mutants.json", ROOT / "lab/mutants.yaml"
RUNS, CONFIGS = "tests/agents/test_train.py", "tests/agents/test_contract.py"


def but(*others: str) -> list[str]:
    """The arguments of pytest that leave out the runs of these agents."""
    words = ["not killed", "not actors", "not learn_the_corridor"]
    words += [f"not [{agent}" for agent in others]
    return ["-m", "not slow and not gpu and not sonic", "-k", " and ".join(words)]


AREAS: dict[str, list[str]] = {
    **{f"{a}/learner.py": [f"tests/{a}", RUNS, *but(*{*AGENTS} - {a})] for a in AGENTS},
    "es/*.py": ["tests/es", *but()],
    "jerk/*.py": ["tests/jerk"],
    "retro_agents/experience/*.py": ["tests/experience", CONFIGS, RUNS, *but("es", "jerk")],
    "retro_agents/nets/*.py": [
        *("tests/nets", "tests/run/test_export.py", CONFIGS, RUNS),
        *but("es", "jerk"),
    ],
    "retro_agents/run/*.py": ["tests/run", "tests/agents/test_foundation.py"],
    "retro_agents/ground/*.py": ["tests/run", "tests/agents/test_foundation.py", "tests/ground"],
    "retro_agents/contest/wire/*.py": ["tests/contest"],
    "retro_agents/contest/match/*.py": ["tests/contest"],
    "retro_agents/contest/leaderboard/*.py": ["tests/contest/leaderboard"],
    "cartridge/levels/season.py": ["tests/contest/leaderboard"],
    "cartridge/levels/*.py": ["tests/cartridge"],
    "retro_agents/judging/*.py": ["tests/judging"],
    "retro_agents/studio/*.py": ["tests/studio"],
    "retro_agents/sweeps/*.py": ["tests/sweeps"],
    "retro_agents/games/retro/*.py": ["tests/games/retro", "tests/contest/wire/test_record.py"],
}
"""Patterns of files, and the arguments of pytest for a fault in them; the first that fits."""
DRAWN = [
    *("*/learner.py", "retro_agents/experience/*.py", "retro_agents/nets/*.py"),
    *(f"retro_agents/run/{name}.py" for name in ("checkpoint", "distrust", "draft", "manifest")),
    *("retro_agents/contest/wire/*.py", "retro_agents/games/retro/rom_*.py"),
]
"""Files from which faults are drawn."""
PAIRS: list[tuple[type, type]] = [
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot)),
    *((ast.In, ast.NotIn), (ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.Div)),
]
OPPOSITES = {**dict(PAIRS), **{right: left for left, right in PAIRS}}
NO_BEHAVIOUR = ("annotation", "returns", "decorator_list")
Mutant = dict[str, Any]
"""file, line, from and to; once it was tried, also caught, by and seconds."""
key = itemgetter("file", "from", "to")


def changed(node: ast.AST) -> ast.AST | None:
    """Returns the node with a fault, or None if there is none for such a node."""
    match node:
        case ast.Compare(left, [first, *others], values) if type(first) in OPPOSITES:
            return ast.Compare(left, [OPPOSITES[type(first)](), *others], values)
        case ast.BinOp(left, operator, right) if type(operator) in OPPOSITES:
            return ast.BinOp(left, OPPOSITES[type(operator)](), right)
        case ast.BoolOp(operator, values):
            return ast.BoolOp(OPPOSITES[type(operator)](), values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            return operand
        case ast.Constant(value) if type(value) is int:
            return ast.Constant(value + 1)
        case ast.Constant(value) if type(value) is float:
            return ast.Constant(2.0 * value or 1.0)
        case ast.Expr(ast.Call()):
            return ast.Pass()
    return None


def places(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yields (node, faulty node) where a fault can be; none is in messages and assertions."""
    if isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert):
        return
    if (fault := changed(node)) is not None:
        yield node, fault
    for name, part in ast.iter_fields(node):
        for child in part if isinstance(part, list) else [part]:
            if isinstance(child, ast.AST) and name not in NO_BEHAVIOUR:
                yield from places(child)


def mutants_of(file: str) -> list[Mutant]:
    """All mutants of a file: `from` and `to` are its changed lines, before and after."""
    lines = (ROOT / file).read_bytes().splitlines(keepends=True)
    made = []
    for node, fault in places(ast.parse(b"".join(lines))):
        begin, end = node.lineno - 1, node.end_lineno  # type: ignore[attr-defined]
        head, tail = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        new = ast.unparse(ast.fix_missing_locations(fault))
        new = new if isinstance(fault, ast.Pass | ast.Constant) else f"({new})"
        after = lines[begin][:head] + new.encode() + lines[end - 1][tail:]
        change = {"from": b"".join(lines[begin:end]).decode(), "to": after.decode()}
        made.append({"file": file, "line": begin + 1, **change})
    return made


def drawn(each: int, seed: int) -> list[Mutant]:
    """Up to `each` mutants of each file in DRAWN."""
    files = sorted(str(p.relative_to(ROOT)) for pattern in DRAWN for p in ROOT.glob(pattern))
    chosen: list[Mutant] = []
    for file in files:
        found = mutants_of(file)
        chosen += random.Random(f"{seed} {file}").sample(found, min(each, len(found)))
    return chosen


def by_hand() -> list[Mutant]:
    """The mutants of lab/mutants.yaml. Raises UserError if one does not fit the code any more."""
    chosen: list[Mutant] = yaml.safe_load(BY_HAND.read_text(encoding="utf-8"))["faults"]
    for one in chosen:
        text = (ROOT / one["file"]).read_text(encoding="utf-8")
        if text.count(one["from"]) != 1:
            raise UserError(f"{BY_HAND}: {one['file']} must contain this once: {one['from']!r}")
        one["line"] = text[: text.index(one["from"])].count("\n") + 1
    return chosen


def copy_of_the_code(folder: Path) -> Path:
    """Clones this repository, and copies what differs from its last commit."""
    git = partial(subprocess.run, cwd=ROOT, capture_output=True, check=True, text=True)
    git(["git", "clone", "--quiet", "--shared", str(ROOT), str(folder)])
    changes = ["git", "ls-files", "-z", "--modified", "--others", "--exclude-standard"]
    for name in git(changes).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def failing(tree: Path, tests: list[str], *, limit_s: float) -> str:
    """Runs tests in a copy of the code. Returns the first that fails, or "" if none does."""
    order = [sys.executable, "-m", "pytest", "-xq", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree), "NUMBA_CACHE_DIR": str(tree / ".numba")}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(
        order, cwd=tree, env=environment, start_new_session=True, **pipes
    ) as process:
        try:
            said, _ = process.communicate(timeout=limit_s)
        except BaseException as error:  # Ctrl-C, too, which its session does not get
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                return "the time limit"
            raise
    if process.returncode not in (0, 1, 2):  # 2: a file of tests cannot be imported
        raise UserError(f"pytest failed: {said[-500:]}")
    named = (line.partition(" ") for line in said.splitlines())
    failed = [rest.partition(" - ")[0] for kind, _, rest in named if kind in ("FAILED", "ERROR")]
    return failed[0] if process.returncode else ""


def tests_of(tree: Path, file: str) -> list[str]:
    """The arguments of pytest for a file of code: its own tests first."""
    own = Path("tests", *[part for part in Path(file).parent.parts if part != "retro_agents"])
    own /= f"test_{Path(file).name}"
    area = next(found for pattern, found in AREAS.items() if Path(file).match(pattern))
    return [str(own), *area] if (tree / own).is_file() else area


def try_out(mutant: Mutant, tree: Path, *, number: int, limit_s: float) -> Mutant:
    """Puts the fault into the copy, runs the tests, and mends it. Returns the result."""
    path, begun = tree / mutant["file"], time.monotonic()
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    before, after = "".join(lines[: mutant["line"] - 1]), "".join(lines[mutant["line"] - 1 :])
    path.write_text(before + after.replace(mutant["from"], mutant["to"], 1), encoding="utf-8")
    os.utime(path, (number, number))  # compiled modules are recognised by the second
    by = failing(tree, tests_of(tree, mutant["file"]), limit_s=limit_s)
    seconds = round(time.monotonic() - begun)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (0, 0))
    if "::" in by and failing(tree, [by], limit_s=limit_s):
        raise UserError(f"{by} fails without a fault, too")
    return {**mutant, "caught": bool(by), "by": by, "seconds": seconds}


def result(tried: list[Mutant]) -> Mutant:
    """All mutants that were tried, with the reasons why survivors may survive."""
    notes = yaml.safe_load(BY_HAND.read_text(encoding="utf-8"))["survivors"]
    why = {key(note): note["because"] for note in notes}
    for one in tried:
        one |= {"because": why[key(one)]} if key(one) in why and not one["caught"] else {}
    survived = [one for one in tried if not one["caught"]]
    explained = sum("because" in one for one in survived)
    counts = {"tried": len(tried), "caught": len(tried) - len(survived), "explained": explained}
    tried = sorted(tried, key=itemgetter("file", "line", "to"))
    facts = {"command": "python -m lab.mutants", "commit": commit(), "machine": machine()}
    return {**facts, **counts, "mutants": tried}


@dataclass(frozen=True)
class MutantsConfig:
    """Put small faults into a copy of the code, one at a time: do the tests notice them?"""

    each: Natural = 2
    """Mutants of each file."""
    seed: Seed = 0
    """Draws them."""
    most: Natural = 10**6
    """Mutants to try now."""
    only: str = ""
    """Only files whose names contain this."""
    again: bool = False
    """Try stored survivors again."""
    limit_s: Positive = 900.0
    """Seconds for one mutant's tests."""


@command
def main(argv: list[str] | None = None) -> None:
    chosen = parse_command(MutantsConfig, argv, command="python -m lab.mutants")
    wanted = [*by_hand(), *drawn(chosen.each, chosen.seed)]
    stored = read_result(STORED)["mutants"] if STORED.exists() else []
    files = {one["file"] for one in stored if (ROOT / one["file"]).is_file()}
    fit = {key(one) for one in (*wanted, *chain(*map(mutants_of, sorted(files))))}
    there = {key(one): one for one in stored if key(one) in fit}  # of the code as it is now
    known = {one for one, tried in there.items() if tried["caught"] or not chosen.again}
    left = [one for one in wanted if chosen.only in one["file"] and key(one) not in known]
    with tempfile.TemporaryDirectory() as folder:
        tree = copy_of_the_code(Path(folder))
        for number, mutant in enumerate(left[: chosen.most], start=1):
            tried = try_out(mutant, tree, number=number, limit_s=chosen.limit_s)
            there[key(mutant)] = tried
            store(STORED, result([*there.values()]))
            word = "caught" if tried["caught"] else "SURVIVED"
            print(f"{word} {tried['file']}:{tried['line']} {tried['to'].strip()} [{tried['by']}]")
    store(STORED, result([*there.values()]))


if __name__ == "__main__":
    main()
