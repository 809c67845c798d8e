"""A run's state: all that changes while `train.run` loops, and what it does with it."""

import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from es.agent import ESAgent
from es.config import ESConfig
from es.emulators import Stage
from es.learner import Learner, share_beaten, sigma_at, steps_at
from es.memory import RECORD, Noise, Plan, draw_levels
from es.play import Player
from es.world import World
from experiment.checkpoint import load_checkpoint, save_checkpoint
from experiment.device import prepare_device
from experiment.errors import UserError
from experiment.seeding import seed_everything

Records = NDArray[np.void]


@dataclass
class Training:
    """All that changes during a run: what a checkpoint holds."""

    config: ESConfig
    stage: Stage
    world: World
    init: Path | str | None = None
    env_steps: int = 0
    generation: int = 0
    timing: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        seed_everything(self.config.seed)
        # One thread: the emulators and the other processes of the run have the other cores.
        device = prepare_device(self.config.device, threads=1)
        self.agent = ESAgent.start(self.config, self.init, device=str(device))
        self.config, net = self.agent.config, self.agent.net
        self.noise = Noise(self.config.seed, net.shapes, self.config.rank)
        self.learner = Learner(net.flat(), self.config, noise=self.noise)
        self.player = Player(self.stage, net, self.config, noise=self.noise)

    def plan(self) -> Plan:
        """The episodes of the generation that is next."""
        config, levels = self.config, len(self.stage.levels)
        evaluates = config.evaluate_every > 0 and self.generation % config.evaluate_every == 0
        slots = draw_levels(
            config.seed, self.generation, levels=levels, count=config.levels_per_generation
        )
        return Plan(
            seed=config.seed,
            generation=self.generation,
            pairs=config.pairs,
            slots=slots,
            evaluations=config.evaluate_episodes if evaluates else 0,
            steps=steps_at(config, self.generation) if self.stage.planned else 0,
            levels_per_pair=config.levels_per_pair,
        )

    def play(self, plan: Plan) -> Records:
        """Play a generation together -> the records of all processes, in the order of the plan;
        some are missing where the budget of a stage that is not planned has ended."""
        world, began, before = self.world, time.monotonic(), self.env_steps
        waited, sent = world.waited, world.sent
        records, missing = np.zeros(0, RECORD), list(range(len(plan)))
        while missing:
            records = np.concatenate([records, *self.play_together(plan, missing)])
            missing = np.setdiff1d(missing, records["task"]).tolist()
            if not self.stage.planned:  # else a process has died with what it had claimed
                break
        seconds = max(time.monotonic() - began, 1e-9)
        self.timing = {
            "episodes_per_second": len(records) / seconds,
            "steps_per_second": (self.env_steps - before) / seconds,
            "waiting": (world.waited - waited) / seconds,
            "bytes": world.sent - sent,
        }
        return records[np.argsort(records["task"])]

    def play_together(self, plan: Plan, numbers: list[int]) -> list[Records]:
        """Play these episodes of a generation -> the records of each process; one that has died
        has left none. Errors: RuntimeError (the processes have come to differ)."""
        mine, steps = self.player.play(
            plan,
            self.world,
            theta=self.learner.theta,
            sigma=sigma_at(self.config, self.generation),
            budget=self.config.timesteps - self.env_steps,
            numbers=numbers,
        )
        head = np.array([steps, zlib.crc32(self.learner.theta.tobytes())], np.int64).tobytes()
        answers = self.world.exchange(head + mine.tobytes())
        heads = np.array([np.frombuffer(answer[:16], np.int64) for answer in answers])
        if (heads[:, 1] != heads[0, 1]).any():
            raise RuntimeError(
                "the processes have different weights: their hardware or software "
                "differs; run them on machines that are alike"
            )
        self.env_steps += int(heads[:, 0].sum())
        return [np.frombuffer(answer[16:], RECORD) for answer in answers]

    def learn(self, plan: Plan, records: Records) -> dict[str, float]:
        """One update from a whole generation -> its metrics."""
        world, began, sent = self.world, time.monotonic(), self.world.sent
        returns, current = plan.table(records)
        divided = self.config.divide_update and world.shares and world.size > 1
        learned = self.learner.update(
            returns,
            generation=self.generation,
            rank=world.rank,
            size=world.size,
            exchange=world.exchange if divided else None,
        )
        self.agent.net.take(self.learner.theta)
        self.generation += 1
        self.timing["update_seconds"] = time.monotonic() - began
        self.timing["bytes"] += world.sent - sent
        members = returns.astype(np.float64).reshape(-1, returns.shape[2])
        members = members[:, ~np.isnan(members).all(axis=0)]  # fewer turns than levels
        values = {
            "return": float(np.nanmean(members)),
            "best": float(np.nanmean(members, axis=1).max()),
            "spread": float(np.nanstd(members, axis=0).mean()),
        }
        if current.size:
            values["current"] = float(current.mean(dtype=np.float64))
            values["rank"] = share_beaten(
                current.mean(axis=0), returns.reshape(-1, returns.shape[2])
            )
        return {**values, **learned, "steps_cap": plan.steps, "generation": self.generation}

    def save(self, folder: Path) -> None:
        """Write a checkpoint from which `restore` goes on exactly, on any number of processes."""
        tensors, plain = self.learner.parts()
        save_checkpoint(
            folder,
            agent="es",
            config=self.config,
            counters={"env_steps": self.env_steps, "generation": self.generation},
            tensors={"net": self.agent.net.state_dict(), "optimiser": tensors},
            state={"optimiser": plain, "encoder_sha256": self.config.encoder_sha256},
        )

    def restore(self, run_dir: Path | str) -> None:
        """Be what the last checkpoint of a run was. UserError: it is an agent without a run, its
        encoder is another one, or this run searches other weights."""
        saved = load_checkpoint(run_dir).of("es")
        if "optimiser" not in saved.state:
            raise UserError(
                f"{saved.folder} holds an agent without its run, which cannot go on; start "
                f"another run with --init {run_dir}"
            )
        for name in ("layer", "optimiser"):
            if saved.config[name] != getattr(self.config, name):
                raise UserError(
                    f"the run in {run_dir} has {name} {saved.config[name]}, not "
                    f"{getattr(self.config, name)}: resume with the same, or start another with "
                    "--init"
                )
        expected = saved.state["encoder_sha256"]
        if self.config.encoder_sha256 != expected:
            raise UserError(
                f"{saved.folder} holds an encoder with SHA-256 {self.config.encoder_sha256}, its "
                f"run was begun with {expected}; use another checkpoint"
            )
        self.learner.restore(
            self.agent.net.flat(), saved.tensors["optimiser"], saved.state["optimiser"]
        )
        self.env_steps = saved.counters["env_steps"]
        self.generation = saved.counters["generation"]
