"""What a sweep is told: flags, and plans that hold them."""

import dataclasses
from pathlib import Path
from typing import Any, Literal

from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, Natural
from retro_agents.run.config import read_file
from retro_agents.run.fields import field, fixed
from retro_agents.sweeps.study import named_file

PLANS = Path("lab/plans")
"""Of a checkout of the project, from whose folder a plan may be named."""


@dataclasses.dataclass(frozen=True)
class SweepConfig:
    """Train an agent with many settings: over a grid, or as a population (PBT)."""

    plan: str = ""
    """A FILE.yaml with fields like these, or the name of one in ./lab/plans; flags win."""

    agent: str = fixed("ppo2")
    """Its package."""
    preset: str = fixed("")
    """A preset of the agent."""
    levels: str = fixed("")
    """As the agent's; none: the preset's."""
    timesteps: Natural = fixed(0)
    """Agent steps of a run; 0: the preset's."""
    flags: str = fixed("")
    """Further flags of all runs. Write --flags='--hidden 32 --pool'."""
    out: Path = Path("runs/sweep")
    """Folder of all runs, the table and the plot. The same command again goes on there."""

    grid: tuple[str, ...] = ()
    """FIELD=A,B,C of the agent's config, or FIELD=A;B where values have commas: all combinations
    are trained."""
    seeds: Count = field(1, only_with="grid")
    """Runs of each combination, of seeds 0, 1, ...."""
    jobs: Natural = 0
    """Runs at a time; 0: two, on a cluster as many as there is room for."""
    cell: Natural = field(0, only_with="engine=local")
    """Only the run of that number, from 1 on, as a job script asks for; 0: all, and the table."""
    resources: str = field("", only_with=("engine=slurm", "engine=lsf"))
    """slurm, lsf: words for the script's head, such as '--time=10:00:00 --gres=gpu:1'."""

    pbt: tuple[str, ...] = fixed(())
    """FIELD=LOW:HIGH: values are drawn there, and then move with the population."""
    population: Count = fixed(4, only_with="pbt")
    """Runs of a population."""
    perturb_every: Count = fixed(100_000, only_with="pbt")
    """Agent steps after which a run may take over a better one's weights and change its values; a
    checkpoint is written as often."""

    engine: Literal["local", "ray", "slurm", "lsf"] = "local"
    """local: a grid's processes here. ray: on Ray, a population on Ray Tune, as --pbt means. slurm,
    lsf: print a script that runs a grid as jobs."""
    ray_address: str = ""
    """ray: a cluster to run on, or auto for the one that this machine is in; none: here alone."""

    @property
    def at_once(self) -> int:
        """Runs at a time on this machine."""
        return self.jobs or 2

    def check(self) -> None:
        """Raises UserError if flags do not go together, or ask for nothing."""
        if bool(self.grid) == bool(self.pbt):
            raise UserError("give either --grid FIELD=A,B,... or --pbt FIELD=LOW:HIGH ...")
        if self.pbt and self.engine != "ray":
            raise UserError(f"--pbt runs with --engine ray, not {self.engine}: leave --engine out")
        for name in ("seeds",) if self.pbt else ("population", "perturb_every"):  # of a plan
            if getattr(self, name) != getattr(SweepConfig(), name):
                raise UserError(f"{name} has no effect {'with' if self.pbt else 'without'} pbt")
        if self.pbt and self.population < 2:
            raise UserError("--population 1: a population has 2 runs or more")
        if self.ray_address and self.engine != "ray":
            raise UserError(f"--ray-address is for --engine ray, not {self.engine}")


def read_plan(name: str) -> dict[str, Any]:
    """The fields that a plan gives, by its name or file. Raises UserError if there is none, or it
    is a bad one."""
    path = named_file(name, PLANS, what="plan")
    return read_file(path, what=f"plan {path}")
