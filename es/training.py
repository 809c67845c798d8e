"""All that changes during a run of ES, and how it is saved and restored."""

import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from es.agent import ESAgent
from es.config import ESConfig
from es.learner import Learner
from es.memory import RECORD, Noise, Plan, draw_levels
from es.mpi import World
from es.rows import Rows
from retro_agents.contract.envs import VectorEnv
from retro_agents.experience.actors import actor_seed
from retro_agents.games.families import level_names
from retro_agents.ground.device import prepare_device
from retro_agents.ground.progress import duration
from retro_agents.ground.seeding import seed_everything
from retro_agents.run.checkpoint import Checkpoint, save_checkpoint
from retro_agents.run.optimiser import optimiser_tensors, restore_optimiser
from retro_agents.run.run import EndedEpisode, RunState

Records = NDArray[np.void]


def so_far(plan: Plan, begun: int, *, playing: int, seconds: float) -> str:
    """Says how far a generation is. begun: episodes that were begun, of which up to `playing` are
    not over. seconds: since its start."""
    text = f"generation {plan.generation + 1}: episode {begun} of {len(plan)}"
    if (ended := begun - playing) <= 0:
        return text
    return f"{text}, update in {duration(seconds / ended * (len(plan) - ended))}"


@dataclass
class Training(RunState):
    """Holds the agent, what plays it (`rows`) and what it learns with (`learner`)."""

    name = "es"
    config: ESConfig
    world: World
    env_steps: int = 0
    generation: int = 0
    timing: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rank, self.size = self.world.rank, self.world.size

    @property
    def clock(self) -> int:
        """The generations: the unit of checkpoint_every."""
        return self.generation

    @property
    def learns_from(self) -> str:
        """What the first update needs, while it has not been made; otherwise ""."""
        return "" if self.generation else f"a generation of {self.config.pairs} --pairs"

    def start(self, init: Path | str | None, envs: VectorEnv) -> None:
        """Starts a run, with a checkpoint's net if one is given."""
        settings = self.config.run
        seed_everything(settings.seed)
        # One thread: the environments and the other processes of the run have the other cores.
        device = prepare_device(settings.device, threads=1)
        self.agent = agent = ESAgent.start(self.config, init, device=str(device))
        self.config = agent.config
        # If rows cannot be given a level, all that they play counts as one.
        played = set(envs.levels)
        if self.size > 1:  # another process may play other games
            played = {name.rpartition(":")[2] for name in level_names(settings.levels)}
        whole = ",".join(sorted(played))
        self.levels = level_names(settings.levels) if envs.resets_rows else [whole]
        noise = Noise(settings.seed, len(agent.theta))
        self.learner = Learner(agent.theta, self.config, noise=noise)
        first = self.rank * envs.num_envs
        self.rows = Rows(envs, agent, noise=noise, levels=self.levels, first=first)

    def plan(self) -> Plan:
        """Returns the episodes of the next generation."""
        config, seed = self.config, self.config.run.seed
        count = config.levels_per_generation
        return Plan(
            seed=seed,
            generation=self.generation,
            pairs=config.pairs,
            slots=draw_levels(seed, self.generation, levels=len(self.levels), count=count),
            evaluates=config.evaluate_every > 0 and self.generation % config.evaluate_every == 0,
        )

    def play(self, plan: Plan, show: Callable[[int, str], None]) -> Records:
        """Plays a generation. Returns the records of all processes, in the order of the plan; some
        are missing if environments that start episodes by themselves have used up the budget.
        Raises RuntimeError if the weights of the processes differ. show: called at every step with
        the agent steps of the run before this generation, and how far the generation is."""
        world, theta, start = self.world, self.learner.theta, time.monotonic()
        waited, sent = world.waited, world.sent
        left = self.config.run.timesteps - self.env_steps
        budget = -(-left // world.size)  # of this process
        playing = world.size * len(self.rows.episodes)

        def on_step(begun: int) -> None:
            seconds = time.monotonic() - start
            show(self.env_steps, so_far(plan, begun, playing=playing, seconds=seconds))

        own, steps = self.rows.play(plan, world, theta=theta, budget=budget, on_step=on_step)
        head = np.array([steps, zlib.crc32(theta.tobytes())], np.int64).tobytes()
        answers = world.exchange(head + own.tobytes(), may_leave=True)
        heads = np.array([np.frombuffer(answer[:16], np.int64) for answer in answers])
        if (heads[:, 1] != heads[0, 1]).any():
            raise RuntimeError(
                "the processes have different weights: their hardware or software "
                "differs; run them on machines that are alike"
            )
        records = np.concatenate([np.frombuffer(answer[16:], RECORD) for answer in answers])
        steps, seconds = int(heads[:, 0].sum()), max(time.monotonic() - start, 1e-9)
        self.env_steps += steps
        self.timing = {
            "episodes_per_second": len(records) / seconds,
            "steps_per_second": steps / seconds,
            "waiting": (world.waited - waited) / seconds,
            "bytes": world.sent - sent,
        }
        return np.sort(records, order="task")

    def learn(self, plan: Plan, records: Records) -> dict[str, float]:
        """Makes one update from a whole generation. Returns its metrics."""
        world, start, sent = self.world, time.monotonic(), self.world.sent
        (returns, current), slots = plan.returns(records), plan.turns
        learned = self.learner.update(returns, slots, generation=self.generation, world=world)
        self.agent.theta = self.learner.theta
        self.generation += 1
        self.timing["update_seconds"] = time.monotonic() - start
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

    def episodes(self, plan: Plan, records: Records) -> list[EndedEpisode]:
        """Returns a generation's episodes, as the run reports them, with the number of the member
        as that of the environment."""
        episodes = []
        for record in records:
            task = plan.task(int(record["task"]))
            episode = {name: record[name] for name in ("r", "progress", "finished")}
            episode |= {"l": record["steps"], "level": self.levels[plan.slots[task.slot]]}
            episodes.append((self.env_steps, task.member, episode))
        return episodes

    def save(self, run_dir: Path | str, envs: VectorEnv) -> None:
        """Writes a checkpoint, from which any number of processes can resume: exactly if the
        environment resets single rows, otherwise in new episodes."""
        if self.rank:
            return
        save_checkpoint(
            Path(run_dir) / "checkpoints",
            agent=self.name,
            config=self.config,
            counters={"env_steps": self.env_steps, "generation": self.generation},
            tensors={
                "net": self.agent.net.state_dict(),
                "optimiser": optimiser_tensors(self.learner.optimiser),
            },
        )

    def restore(self, saved: Checkpoint, envs: VectorEnv) -> None:
        """Restores the run from a checkpoint. Raises UserError if it is an agent alone, or this run
        searches other weights."""
        self.start(saved.of(self.name).folder, envs)
        saved.check_run("optimiser")
        saved.check_same(self.config)
        restore_optimiser(self.learner.optimiser, saved.tensors["optimiser"])
        self.env_steps = saved.counters["env_steps"]
        self.generation = saved.counters["generation"]
        if not envs.resets_rows:  # not in the run's first levels again
            self.rows.reset(actor_seed(self.config.run.seed, 0, self.env_steps))
