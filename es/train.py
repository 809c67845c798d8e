# PYTHON_ARGCOMPLETE_OK
"""Evolution Strategies' only loop: searching on many levels and playing one level both run it.

python -m es.train --init runs/ppo2 --levels bramble-train --run-dir runs/es
mpirun -n 4 python es/master.py --init runs/ppo2 --levels bramble-train --run-dir runs/es
"""

import time
import zlib
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from es.agent import ESAgent
from es.config import ESConfig
from es.learner import Learner
from es.memory import RECORD, Noise, Plan, draw_levels
from es.mpi import Interrupted, World, agreeing, processes
from es.play import Player
from retro_agents.contract.envs import VectorEnv
from retro_agents.experience.actors import actor_seed
from retro_agents.games.families import level_names, make_for, train
from retro_agents.ground.device import prepare_device
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.seeding import seed_everything
from retro_agents.run.checkpoint import Checkpoint, load_to_resume, save_checkpoint
from retro_agents.run.command_line import load_run_config
from retro_agents.run.config import replaced
from retro_agents.run.folder import interruptible, reports
from retro_agents.run.optimiser import optimiser_tensors, restore_optimiser

Records = NDArray[np.void]

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, ESConfig, presets=PRESETS, command="python -m es.train")


def run(
    envs: VectorEnv,
    config: ESConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
    *,
    world: World | None = None,
) -> ESAgent:
    """Search on `envs` for config.run.timesteps agent steps and return the agent.

    run_dir: where config, metrics, episodes and checkpoints go; with config.run.resume an existing
    run goes on. init: a checkpoint that gives the net. world: the processes of the run; each calls
    this with environments of its own, the first one writes.
    """
    world, settings = world or World(), config.run
    with agreeing(world):
        saved = load_to_resume(run_dir).of("es") if settings.resume else None
        training = Training(config, envs, world, saved.folder if saved else init)
        if saved:
            training.restore(saved)
        reports = Reports(run_dir, training)
    with reports, interruptible(run_dir, rank=world.rank, size=world.size) as world.interrupted:
        with suppress(Interrupted):
            while training.env_steps < settings.timesteps:
                plan = training.plan()
                records = training.play(plan)
                values = training.learn(plan, records) if len(records) == len(plan) else {}
                reports.write(plan, records, values)
        reports.save()
    return training.agent


@dataclass
class Training:
    """All that changes during a run: what a checkpoint holds."""

    config: ESConfig
    envs: VectorEnv
    world: World
    init: Path | str | None = None
    env_steps: int = 0
    generation: int = 0
    timing: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settings, begins = self.config.run, self.envs.resets_rows
        seed_everything(settings.seed)
        # One thread: the environments and the other processes of the run have the other cores.
        device = prepare_device(settings.device, threads=1)
        self.agent = agent = ESAgent.start(self.config, self.init, device=str(device))
        self.config = agent.config
        # Where rows do not begin what they are told, what plays where is one level to us.
        here = ",".join(sorted(set(self.envs.levels)))
        self.levels = level_names(settings.levels) if begins else [here]
        noise = Noise(settings.seed, len(agent.theta))
        self.learner = Learner(agent.theta, self.config, noise=noise)
        self.player = Player(self.envs, agent, noise=noise, levels=self.levels)

    def plan(self) -> Plan:
        """The episodes of the generation that is next."""
        config, seed = self.config, self.config.run.seed
        count = config.levels_per_generation
        return Plan(
            seed=seed,
            generation=self.generation,
            pairs=config.pairs,
            slots=draw_levels(seed, self.generation, levels=len(self.levels), count=count),
            evaluates=config.evaluate_every > 0 and self.generation % config.evaluate_every == 0,
        )

    def play(self, plan: Plan) -> Records:
        """Play a generation together -> the records of all processes, in the order of the plan;
        some are missing where the budget of environments that begin episodes by themselves has
        ended.

        Errors: RuntimeError (the processes have come to differ).
        """
        world, theta, began = self.world, self.learner.theta, time.monotonic()
        waited, sent = world.waited, world.sent
        budget = self.config.run.timesteps - self.env_steps
        mine, steps = self.player.play(plan, world, theta=theta, budget=budget)
        head = np.array([steps, zlib.crc32(theta.tobytes())], np.int64).tobytes()
        answers = world.exchange(head + mine.tobytes(), may_leave=True)
        heads = np.array([np.frombuffer(answer[:16], np.int64) for answer in answers])
        if (heads[:, 1] != heads[0, 1]).any():
            raise RuntimeError(
                "the processes have different weights: their hardware or software "
                "differs; run them on machines that are alike"
            )
        records = np.concatenate([np.frombuffer(answer[16:], RECORD) for answer in answers])
        taken, seconds = int(heads[:, 0].sum()), max(time.monotonic() - began, 1e-9)
        self.env_steps += taken
        self.timing = {
            "episodes_per_second": len(records) / seconds,
            "steps_per_second": taken / seconds,
            "waiting": (world.waited - waited) / seconds,
            "bytes": world.sent - sent,
        }
        return np.sort(records, order="task")

    def learn(self, plan: Plan, records: Records) -> dict[str, float]:
        """One update from a whole generation -> its metrics."""
        world, began, sent = self.world, time.monotonic(), self.world.sent
        (returns, current), slots = plan.returns(records), plan.turns
        learned = self.learner.update(returns, slots, generation=self.generation, world=world)
        self.agent.theta = self.learner.theta
        self.generation += 1
        self.timing["update_seconds"] = time.monotonic() - began
        self.timing["bytes"] += world.sent - sent
        spreads = [returns[slots == slot].std(dtype=np.float64) for slot in np.unique(slots)]
        values = {
            "return": float(returns.mean(dtype=np.float64)),
            "best": float(returns.max()),
            "spread": float(np.mean(spreads)),
        }
        if current.size:
            values["current"] = float(current.mean(dtype=np.float64))
        return {**values, **learned, "generation": self.generation}

    def save(self, folder: Path) -> None:
        """Write a checkpoint from which `restore` goes on, on any number of processes; exactly
        where the environment resets single rows, elsewhere in new episodes."""
        save_checkpoint(
            folder,
            agent="es",
            config=self.config,
            counters={"env_steps": self.env_steps, "generation": self.generation},
            tensors={
                "net": self.agent.net.state_dict(),
                "optimiser": optimiser_tensors(self.learner.optimiser),
            },
        )

    def restore(self, saved: Checkpoint) -> None:
        """Be what the checkpoint of a run was, whose net is there already. UserError: it is an
        agent alone, or this run searches other weights."""
        saved.check_run("optimiser")
        saved.check_same(self.config)
        restore_optimiser(self.learner.optimiser, saved.tensors["optimiser"])
        self.env_steps = saved.counters["env_steps"]
        self.generation = saved.counters["generation"]
        if not self.envs.resets_rows:  # not in the levels that the run began with
            self.player.reset(actor_seed(self.config.run.seed, 0, self.env_steps))


class Reports(ExitStack):
    """The run's folder and the progress shown: written by the first process."""

    def __init__(self, run_dir: Path | str, training: Training) -> None:
        super().__init__()
        self.training, self.first = training, training.world.rank == 0
        if not self.first:
            return
        config, steps = training.config, training.env_steps
        self.saved = steps if config.run.resume else None
        own = reports(run_dir, config, "es", env_steps=steps)
        self.folder, self.metrics, self.episodes, self.progress = self.enter_context(own)

    def write(self, plan: Plan, records: Records, values: dict[str, float]) -> None:
        """A generation's episodes and metrics, and where it is due its checkpoint."""
        if not self.first:
            return
        training, step = self.training, self.training.env_steps
        for record in records:
            task = plan.task(int(record["task"]))
            episode = {name: record[name] for name in ("r", "progress", "finished")}
            episode |= {"l": record["steps"], "level": training.levels[plan.slots[task.slot]]}
            self.episodes.log(step, task.member, episode)
        self.progress.update(step, values)
        every = training.config.run.checkpoint_every
        if values:
            self.metrics.log(step, values, timing=training.timing)
            if every and training.generation % every == 0:
                self.save()

    def save(self) -> None:
        """A checkpoint, unless this moment has one."""
        if self.first and self.saved != self.training.env_steps:
            self.training.save(self.folder.checkpoints)
            self.saved = self.training.env_steps


def train_in_world(argv: Sequence[str] | None, world: World) -> None:
    """Train as a command line says, in this process of the world."""
    with agreeing(world):
        config = parse(argv)
        mine = config.run.num_envs  # of each process
        part = slice(world.rank * mine, (world.rank + 1) * mine)
        envs = make_for(replaced(config, num_envs=mine * world.size), part=part)
    train(partial(run, world=world), config, envs)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Train as the command line says, in one process."""
    if (count := processes()) > 1:
        raise UserError(
            f"mpirun has started {count} processes of es.train, each a run of its own in the same "
            f"folder; for one run of all use `mpirun -n {count} python es/master.py …`"
        )
    train_in_world(argv, World())


if __name__ == "__main__":
    main()
