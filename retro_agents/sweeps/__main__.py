"""Trains an agent with many settings, and continues where it stopped.

python -m retro_agents.sweeps --agent ppo2 --grid gamma=0.9,0.99 --seeds 3 --out runs/gamma
python -m retro_agents.sweeps --agent ppo2 --preset fast --pbt gamma=0.9:0.999 --out runs/pbt
"""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from rich.console import Console

from retro_agents.ground.cluster import ray_on
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.processes import stopped_in_order
from retro_agents.run.agents import with_this_project
from retro_agents.run.command_line import check_effects, parse_command
from retro_agents.sweeps import grid, jobs
from retro_agents.sweeps.config import SweepConfig, make_out, read_plan
from retro_agents.sweeps.launcher import left, play, work


def asked(argv: Sequence[str]) -> SweepConfig:
    """The config of a command line and its plan. Raises UserError if it is bad."""
    for flag, word in pairwise(argv):
        if flag in ("--flags", "--resources") and word.startswith("--"):
            raise UserError(f"{flag} {word!r}: write {flag}={word!r}, since it begins like a flag")
    plans = [value for word, value in pairwise(argv) if word == "--plan" and value[:2] != "--"]
    plans += [word.removeprefix("--plan=") for word in argv if word.startswith("--plan=")]
    values = read_plan(plans[-1]) if plans else {}
    if "pbt" in values or "--pbt" in [word.partition("=")[0] for word in argv]:
        values = {"engine": "ray", **values}
    config = parse_command(SweepConfig, argv, command="retro-agents sweep", defaults=values)
    config.check()
    # A job of a plan's cluster runs its cell with --engine local.
    check_effects(config, [name for name in values if name != "resources"])
    return config


@contextmanager
def player(config: SweepConfig) -> Iterator[dict[str, Any]]:
    """The functions with which `retro_agents.sweeps.launcher.work` runs cells: here, or on a Ray
    cluster."""
    if config.engine != "ray":
        yield {}
        return
    project = {"env_vars": with_this_project()}
    with ray_on(config.ray_address, cpus=config.at_once, runtime_env=project) as ray:
        task, begun = ray.remote(play), list[Any]()

        def there(*arguments: Any, threads: int, stopping: threading.Event) -> None:
            begun.append(mine := task.remote(*arguments, threads=threads))
            if stopping.is_set():  # `stop` may have come before
                ray.cancel(mine)
            try:
                ray.get(mine)
            except ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, UserError):
                    raise error.cause from None
                raise
            except ray.exceptions.RayError as error:
                reason = str(error).partition("\n")[0]
                raise UserError(f"Ray lost the run ({reason}); give the command again") from None

        yield {"play": there, "stop": lambda: [ray.cancel(one) for one in begun]}


def run_grid(config: SweepConfig) -> None:
    """Run the missing cells, then write the table and the plot. Raises UserError if some failed."""
    study, named = grid.study_of(config)
    make_out(config.out)
    todo = left(study, list(study.kinds), config.out, lists=not config.cell)
    say = Console(soft_wrap=True, markup=False).print
    if config.cell:
        every = [cell for kind in study.kinds for cell in study.cells(kind)]
        if config.cell > len(every):
            raise UserError(f"--cell {config.cell}: this grid has {len(every)} runs")
        todo = [cell for cell in todo if cell == every[config.cell - 1]]
    at_once = 1 if config.cell else config.at_once  # runs on this machine share its cores
    if config.ray_address:  # each run takes a core of the cluster
        at_once = config.jobs or max(1, len(todo))
    each = grid.described(config, study)
    say(f"{len(todo)} runs to do, {at_once} at a time ({each}); their logs are in {config.out}")
    try:
        with player(config) as players:
            work(study, todo, config.out.resolve(), jobs=at_once, say=say, **players)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("repeat the command to resume") from None
    finally:
        if not config.cell:
            rows = grid.with_earlier(config, grid.collect(study, named, config.out))
            grid.publish(config, grid.markdown(rows), points=[row._asdict() for row in rows])
            if rows:
                seeds = f"{config.seeds} seeds" if config.seeds > 1 else "one seed"
                grid.draw(rows, config.out / "plot.png", title=f"{each}\n{seeds}")


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Run the sweep that the command line describes."""
    words = list(sys.argv[1:] if argv is None else argv)
    config = asked(words)
    with stopped_in_order():
        if config.pbt:
            from retro_agents.sweeps import population

            population.run(config)
        elif config.search:
            from retro_agents.sweeps import search

            search.run(config)
        elif config.engine in ("local", "ray"):
            run_grid(config)
        else:
            study, _ = grid.study_of(config)
            make_out(config.out)  # clusters do not make folders for their logs
            left(study, list(study.kinds), config.out)  # once, because all jobs begin together
            print(jobs.script(config, words, count=len(study.kinds) * config.seeds))


if __name__ == "__main__":
    main()
