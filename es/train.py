# PYTHON_ARGCOMPLETE_OK
"""Evolution Strategies' only loop: searching on many levels and playing one level both run it.

python -m es.train --run-dir runs/es
mpirun -n 4 python es/master.py --init runs/ppo2 --levels bramble-train --run-dir runs/es-mpi
"""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from es.config import ESConfig
from es.mpi import Agreed, Interrupted, World, agreeing, is_first, processes
from retro_agents.contract.envs import VectorEnv
from retro_agents.contract.policy import Agent
from retro_agents.games.families import make_for, train
from retro_agents.ground.errors import UserError, command
from retro_agents.run.command_line import load_run_config
from retro_agents.run.config import replaced
from retro_agents.run.run import Run

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, ESConfig, presets=PRESETS, command="python -m es.train")


def run(
    envs: VectorEnv,
    config: ESConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
    *,
    world: World | None = None,
) -> Agent:
    """Search on `envs` for config.run.timesteps agent steps and return the agent.

    init: a checkpoint that gives the net. world: the processes of the run; each calls this with
    environments of its own, the first one writes. The others: see `Run`.
    """
    from es.training import Training  # brings PyTorch, for which --help does not wait

    world = world or World()
    with ExitStack() as stack:
        with agreeing(world):
            training = Training(config, world)
            run = stack.enter_context(Run(training, envs, run_dir, init))
        world.interrupted = run.interrupted
        stack.enter_context(suppress(Interrupted))
        while run.goes_on():
            plan = training.plan()
            records = training.play(plan, run.show)
            whole = len(records) == len(plan)
            values = training.learn(plan, records) if whole else {}
            run.after(training.episodes(plan, records), values, timing=training.timing)
            if not whole:  # a process has played its share of the steps
                break
    return training.agent


def train_in_world(argv: Sequence[str] | None, world: World) -> None:
    """Train as a command line says, in this process of the world."""
    with agreeing(world):
        config = parse(argv)
        share = config.run.num_envs  # of each process
        part = slice(world.rank * share, (world.rank + 1) * share)
        envs = make_for(replaced(config, num_envs=share * world.size), part=part)
    with agreeing(world):
        if len({*world.exchange(bytes([config.run.resume]))}) > 1:
            raise UserError(
                f"only some of the machines have a checkpoint in {config.run.run_dir}: give one "
                "folder that all share"
            )
    train(partial(run, world=world), config, envs)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Train as the command line says, in one process."""
    if (count := processes()) > 1:
        if not is_first():
            raise Agreed(2)
        raise UserError(
            f"mpirun has started {count} processes of es.train, each a run of its own in the same "
            f"folder; for one run of all use `mpirun -n {count} python -m es.master …`"
        )
    train_in_world(argv, World())


if __name__ == "__main__":
    main()
