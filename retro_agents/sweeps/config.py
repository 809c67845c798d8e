"""The settings of a sweep: flags, and plans that hold their values."""

import dataclasses
import json
from pathlib import Path
from typing import Any, Literal

from retro_agents.ground.errors import UserError
from retro_agents.ground.files import held_by, make_folder, write_json
from retro_agents.ground.ranges import Count, Natural
from retro_agents.ground.results import read_result
from retro_agents.run.config import read_file, to_dict
from retro_agents.run.fields import field, fields, fixed
from retro_agents.sweeps.study import named_file

PLANS = Path("lab/plans")
"""Folder of the plans that can be given by name, if a command starts in a checkout."""


@dataclasses.dataclass(frozen=True)
class SweepConfig:
    """Train an agent with many settings: over a grid, by a search, or as a population (PBT)."""

    plan: str = ""
    """A FILE.yaml of these options, or the name of one in ./lab/plans; flags win."""

    agent: str = fixed("ppo2")
    """Agent package to train."""
    preset: str = fixed("")
    """A preset of the agent."""
    levels: str = fixed("")
    """Levels, as for the agent's trainer; default: the preset's."""
    timesteps: Natural = fixed(0)
    """Agent steps of a run; 0: the preset's."""
    flags: str = fixed("")
    """Further flags for all runs. Write --flags='--hidden 32 --pool'."""
    out: Path = Path("runs/sweep")
    """Folder of all runs, the table and the plot. Repeat the command to resume the sweep in it."""

    grid: tuple[str, ...] = field((), needs=("matplotlib",))
    """FIELD=A,B,C of the agent's config, or FIELD=A;B if values contain commas: all combinations
    are trained."""
    seeds: Count = field(1, only_with="grid")
    """Runs of each combination, with the seeds 0, 1, ...."""
    jobs: Natural = 0
    """Runs in parallel; 0: two, or on a cluster as many as fit."""
    cell: Natural = field(0, only_with="engine=local")
    """Run only this cell, counted from 1, as in a job script; 0: all cells, and the table."""
    resources: str = field("", only_with=("engine=slurm", "engine=lsf"))
    """slurm, lsf: options for the script's head, such as '--time=10:00:00 --gres=gpu:1'."""

    pbt: tuple[str, ...] = fixed(())
    """FIELD=LOW:HIGH: values are drawn from this range, and then evolve with the population."""
    population: Count = fixed(4, only_with="pbt")
    """Number of runs in a population."""
    perturb_every: Count = fixed(100_000, only_with="pbt")
    """Agent steps after which a run may copy a better one's weights and change its values; also the
    interval between checkpoints."""

    search: tuple[str, ...] = fixed((), needs=("optuna",))
    """FIELD=LOW:HIGH or FIELD=A,B: Optuna draws values where good ones were found, and stops runs
    that fall behind. With --flags='--evaluate-every N' it judges by returns on training levels."""
    trials: Count = field(20, only_with="search")
    """Number of runs of a search; a larger number continues a search that has ended."""

    engine: Literal["local", "ray", "slurm", "lsf"] = "local"
    """local: runs a grid's processes here. ray: runs on Ray; a population on Ray Tune, as --pbt
    implies. slurm, lsf: print a script that runs a grid as jobs."""
    ray_address: str = ""
    """ray: address of a cluster, or auto for this machine's; default: this machine alone."""

    @property
    def at_once(self) -> int:
        """Number of parallel runs on this machine."""
        return self.jobs or 2

    def check(self) -> None:
        """Raises UserError if flags contradict each other, or if there is nothing to do."""
        if bool(self.grid) + bool(self.pbt) + bool(self.search) != 1:
            raise UserError(
                "give one of --grid FIELD=A,B,..., --search FIELD=LOW:HIGH ... and --pbt "
                "FIELD=LOW:HIGH ..."
            )
        if self.search and self.cell:
            raise UserError("--cell is for a --grid: leave it out")
        if self.search and self.engine != "local":
            raise UserError(f"--search runs on this machine, not with --engine {self.engine}")
        if self.pbt and self.engine != "ray":
            raise UserError(f"--pbt runs with --engine ray, not {self.engine}: leave --engine out")
        if self.pbt and self.population < 2:
            raise UserError("--population 1: a population has 2 runs or more")
        if self.pbt and self.ray_address and self.jobs:
            raise UserError(
                "--jobs has no effect on a population on a cluster, which all of its cores train: "
                "leave it out"
            )
        if self.ray_address and self.engine != "ray":
            raise UserError(f"--ray-address is for --engine ray, not {self.engine}")


def make_out(out: Path) -> None:
    """Makes --out. Raises UserError if it holds something other than a sweep or a study."""
    if (held := held_by(out)) not in ("a sweep", ""):
        raise UserError(f"{out} already holds {held}; give another --out")
    make_folder(out)


def fixed_of(config: SweepConfig) -> dict[str, Any]:
    """The settings that all commands of a sweep share, as JSON has them."""
    settings = to_dict(config)
    shared = {name: settings[name] for name in fields(config, "fixed")}
    return dict(json.loads(json.dumps(shared)))  # tuples become lists


def check_same(config: SweepConfig, what: str) -> None:
    """Raises UserError if the sweep in --out, a population or a search, was begun with other
    settings; otherwise notes them there."""
    path, now = config.out / f"{what}.json", fixed_of(config)
    before = read_result(path) if path.exists() else now
    for name, value in before.items():
        if value != (wanted := now.get(name)):  # none: a field of another version
            raise UserError(
                f"the {what} in {config.out} was begun with {name} {value!r}, not {wanted!r}; "
                "give the same, or another --out"
            )
    write_json(path, now)


def read_plan(name: str) -> dict[str, Any]:
    """The fields of a plan, given its name or file. Raises UserError if it is missing or bad."""
    path = named_file(name, PLANS, what="plan")
    return read_file(path, what=f"plan {path}")
