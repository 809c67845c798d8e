"""Studies of learning: `python -m lab.studies NAME` runs a study, or resumes it.

python -m lab.studies transfer --jobs 2 --write
python -m lab.studies tables                    # writes docs/results from all stored results
"""

import dataclasses
import math
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from lab.studies import report, tables
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import write_text
from retro_agents.ground.processes import stopped_in_order
from retro_agents.ground.ranges import Count, Natural
from retro_agents.ground.results import read_result, store, write_result
from retro_agents.run.command_line import parse_command
from retro_agents.run.config import preset_names
from retro_agents.run.fields import positional
from retro_agents.sweeps.config import make_out
from retro_agents.sweeps.launcher import left, work
from retro_agents.sweeps.study import Kind, Study, read_study, shell_words

HERE = Path(__file__).parent
OF_RUNS = ("--levels", "--run-dir", "--seed", "--timesteps")
"""Flags that a study gives to each of its runs."""


@dataclasses.dataclass(frozen=True)
class StudyConfig:
    """Run a study's cells (agent × level × seed) and report the results, or write all tables."""

    study: str = positional("STUDY")
    """contest-entry, contest-ideas, es, jerk-fresh, jerk-search, overfit, ppo2, rainbow, sight,
    transfer, or a FILE.yaml like them; or tables."""
    out: Path | None = None
    """Folder for all runs and the tables; default: runs/studies/STUDY."""
    only: tuple[str, ...] = ("",)
    """Kinds or groups to run, with those that they need; empty: run nothing, only write tables."""
    jobs: Count = 2
    """Number of parallel runs."""
    levels: str = ""
    """Levels of the kinds that set none, instead of the study's."""
    seeds: Natural = 0
    """Seeds of the kinds that set none, instead of the study's."""
    steps: Natural = 0
    """Agent steps of the kinds that set none, instead of the study's."""
    flags: str = ""
    """Further flags of all kinds. Write --flags='--exploit-bias 0.5'."""
    inputs: tuple[str, ...] = ()
    """NAME=PATH of inputs that replace the study's own."""
    write: bool = False
    """Also write docs/results and lab/studies/results/STUDY.json; kinds that are not in --out stay
    there."""


def asked(config: StudyConfig) -> Study:
    """The study with the command line's changes. Raises UserError if they are impossible."""
    study = read_study(config.study, HERE)
    given = dict(word.partition("=")[::2] for word in config.inputs)
    if not all(given.values()):
        raise UserError(f"--inputs {' '.join(config.inputs)}: expected NAME=PATH of each")
    for name in given.keys() - study.inputs.keys():
        raise UserError(f"study {config.study} has no input {name!r}: {', '.join(study.inputs)}")
    further = shell_words(config.flags)
    for word in further:
        if word.partition("=")[0].replace("_", "-") in OF_RUNS:
            raise UserError(f"--flags {word}: the study itself sets that for each run")
    changed: dict[str, Any] = {"inputs": study.inputs | given}
    for name in ("levels", "seeds", "steps"):
        if value := getattr(config, name):
            if all(getattr(study.kinds[kind], name) for kind in study.chosen(config.only or [""])):
                raise UserError(
                    f"--{name} has no effect: these kinds of {config.study} have their own"
                )
            changed[name] = value
    changed["kinds"] = {
        name: msgspec.structs.replace(kind, flags=tuple(map(shlex.quote, (*kind.words, *further))))
        for name, kind in study.kinds.items()
    }
    return msgspec.structs.replace(study, **changed)


def with_stored(kinds: report.Kinds, stored: Path, study: Study) -> report.Kinds:
    """These kinds, and the stored results of the study's other kinds or of kinds without new runs,
    with their origin: command, commit and machine. Raises UserError if a kind has new runs here,
    but fewer than are stored, or if it was made with other settings."""
    before = read_result(stored) if stored.exists() else {"kinds": {}}
    found = dict(kinds)
    for name, kind in before["kinds"].items():
        if name not in study.kinds:
            continue
        same = kind["made"].items() <= study.made(name).items()
        if name not in kinds and not same:
            raise UserError(f"{stored.name}: {name} was made with other settings; play it too")
        if name not in kinds or (same and within(kinds[name]["runs"], kind["runs"])):
            origin = {part: before[part] for part in ("command", "commit", "machine")}
            found[name] = {"origin": origin, **kind}
        elif played(kinds[name], study.kinds[name]) < played(kind, study.kinds[name]):
            raise UserError(
                f"{stored.name} has runs of {name} that are not in --out: play them too, or store "
                "nothing (result.md there has the tables)"
            )
    return {name: found[name] for name in study.kinds if name in found}


def within(runs: dict[str, Any], stored: dict[str, Any]) -> bool:
    """Whether all these runs are stored."""
    return all(seeds.items() <= stored.get(level, {}).items() for level, seeds in runs.items())


def played(found: dict[str, Any], kind: Kind) -> int:
    """Number of a kind's runs. One on all levels counts once, if it ended an episode on any."""
    each = [seed for seeds in found["runs"].values() for seed in seeds]
    return len(set(each) if kind.together else each)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Run the incomplete cells, then report."""
    config = parse_command(StudyConfig, argv, command="python -m lab.studies")
    if config.study == "tables":
        if config != StudyConfig("tables"):
            raise UserError("tables has no flags: it writes docs/results from all stored results")
        tables.write()
        return
    study, name = asked(config), Path(config.study).stem
    if config.write and config.study not in preset_names(HERE):
        raise UserError("--write stores the project's own studies; yours is in --out")
    out = config.out or Path("runs/studies") / name
    make_out(out)
    say = Console(soft_wrap=True, markup=False).print
    there = report.collect(study, out)  # raises UserError for runs that were made otherwise
    todo = left(study, study.chosen(config.only), out)
    for used in sorted({one for cell in todo for one in study.kinds[cell.kind].references}):
        if used in study.inputs and not Path(study.inputs[used]).exists():
            raise UserError(f"no {used} at {study.inputs[used]}; give --inputs {used}=PATH")
    stored = HERE / "results" / f"{name}.json"
    if config.write:  # what could not be stored with these runs is refused before they are made
        for cell in todo:
            own = there.setdefault(cell.kind, {"made": study.made(cell.kind), "runs": {}})
            own["runs"].setdefault(cell.level, {})[str(cell.seed)] = math.nan
        with_stored(there, stored, study)
    say(f"{len(todo)} runs to do, {config.jobs} at a time; their logs are in {out}")
    try:
        with stopped_in_order():
            work(study, todo, out, jobs=config.jobs, say=say)
    finally:
        kinds = report.collect(study, out)
        result = {"study": msgspec.to_builtins(study), "compare": study.compare, "kinds": kinds}
        store(out / "result.json", result)
        write_text(out / "result.md", report.page(result) + "\n")
        print(report.page(result))
    if config.write:
        result["kinds"] = with_stored(kinds, stored, study)
        write_result(stored, result, module="lab.studies")
        tables.write()


if __name__ == "__main__":
    main(sys.argv[1:])
