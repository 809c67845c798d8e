"""Evolution Strategies' only loop: searching on many levels and playing one level both run it.

python -m es.train --init runs/ppo2 --levels bramble-train --run-dir runs/es
mpirun -n 4 python es/master.py --init runs/ppo2 --levels bramble-train --run-dir runs/es
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from gymnasium.vector import VectorEnv

from es.agent import ESAgent
from es.config import ESConfig
from es.emulators import Emulators, Stage, Stream
from es.film import film
from es.memory import Plan
from es.training import Records, Training
from es.world import Alone, World, agreeing, mpirun_says
from experiment.config import load_run_config, subset
from experiment.errors import UserError, command
from experiment.metrics import EpisodeLog, Metrics, Table
from experiment.progress import Progress
from experiment.run_folder import RunFolder, resumable
from retro_env import EnvConfig, parse_levels
from retro_env.integrations import check_playable

PRESETS = Path(__file__).parent / "presets"


def run(
    envs: VectorEnv | Stage,
    config: ESConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
    *,
    world: World | None = None,
) -> ESAgent:
    """Search on `envs` for config.timesteps agent steps and return the agent.

    envs: a vector environment, or a stage that begins what it is told. run_dir: where config,
    metrics, episodes and checkpoints go; with config.resume an existing run goes on. init: a
    checkpoint that gives the net. world: the processes of the run; each calls this with
    environments of its own, the first one writes.
    """
    world = world or Alone()
    stage = Stream(envs, seed=config.seed) if isinstance(envs, VectorEnv) else envs
    with agreeing(world):
        if config.video_every and not stage.planned:
            raise UserError(
                "video_every films levels that the run begins itself, which a contest's or another "
                "vector environment's are not; give --video-every 0"
            )
        training = Training(config, stage, world, run_dir if config.resume else init)
        if config.resume:
            training.restore(run_dir)
        reports = Reports(run_dir, training)
    with reports:
        while training.env_steps < config.timesteps:
            plan = training.plan()
            records = training.play(plan)
            values = training.learn(plan, records) if len(records) == len(plan) else {}
            reports.write(plan, records, values)
        reports.finish()
    return training.agent


class Reports:
    """The run's folder and the progress shown: written by the first process."""

    def __init__(self, run_dir: Path | str, training: Training) -> None:
        self.training, self.stack = training, ExitStack()
        self.first = training.world.rank == 0
        if not self.first:
            return
        config = training.config
        folder = RunFolder.open(run_dir) if config.resume else RunFolder.create(run_dir, config)
        if config.resume:
            folder.write_config(config)
        start = training.env_steps if config.resume else None
        enter = self.stack.enter_context
        self.folder, self.saved = folder, start
        self.metrics = enter(Metrics(folder.path, resume_step=start))
        self.episodes = enter(EpisodeLog(folder.path, resume_step=start))
        timing = Table(folder.path / "timing.csv", ["step"], resume_step=start)
        self.timing = enter(closing(timing))
        self.progress = enter(Progress(config.timesteps, "es", start=training.env_steps))

    def write(self, plan: Plan, records: Records, values: dict[str, float]) -> None:
        """A generation's episodes, its metrics, where they are due its checkpoint and film."""
        if not self.first:
            return
        training, config = self.training, self.training.config
        step = training.env_steps
        for record in records:
            task = plan.task(int(record["task"]))
            episode = {
                "level": training.stage.levels[plan.slots[task.slot]],
                "r": record["r"],
                "l": record["steps"],
                "progress": record["progress"],
                "finished": record["finished"],
            }
            self.episodes.log(step, task.member, episode)
        if not values:
            return
        self.metrics.log(step, values)
        self.timing.append({"step": step, **training.timing})
        shown = ("return", "current", "rank", "best")
        numbers = {name: values[name] for name in shown if name in values}
        self.progress.update(step, numbers | {"waiting": training.timing["waiting"]})
        if config.checkpoint_every and training.generation % config.checkpoint_every == 0:
            self.save()
        if config.video_every and training.generation % config.video_every == 0:
            level = training.stage.levels[0]
            film(
                training.agent,
                level,
                self.folder.videos,
                name=f"generation-{training.generation:06d}",
            )

    def save(self) -> None:
        """A checkpoint, unless this moment has one."""
        if self.saved != self.training.env_steps:
            self.training.save(self.folder.checkpoints)
        self.saved = self.training.env_steps

    def finish(self) -> None:
        """The last checkpoint."""
        if self.first:
            self.save()

    def __enter__(self) -> "Reports":
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()


def parse(arguments: list[str]) -> ESConfig:
    """The config of a command line, in which --init may be called --checkpoint."""
    given = ["--init" if word == "--checkpoint" else word for word in arguments]
    given = [w.replace("--checkpoint=", "--init=", 1) for w in given]
    return load_run_config(ESConfig, given, presets=PRESETS, command="python -m es.train")


def train(argv: Sequence[str], world: World) -> None:
    """Train as a command line says, in this process of the world."""
    with ExitStack() as stack:
        with agreeing(world):
            config = parse(list(argv))
            stage = stack.enter_context(closing(make_stage(config)))
        with resumable(config.run_dir):
            run(stage, config, config.run_dir, init=config.init or None, world=world)


def make_stage(config: ESConfig) -> Emulators:
    """This process's emulators."""
    levels = parse_levels(config.levels)
    for level in levels:
        check_playable(level.game, level.state, scenario=config.scenario)
    return Emulators(
        levels,
        num_envs=config.num_envs,
        config=subset(config, EnvConfig),
        step_seconds=config.step_seconds,
    )


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Train as the command line says, in one process."""
    count = mpirun_says("SIZE", otherwise=1)
    if count > 1:
        raise UserError(
            f"mpirun has started {count} processes of es.train, each a run of its own in the same "
            f"folder; for one run of all use `mpirun -n {count} python es/master.py …`"
        )
    train(sys.argv[1:] if argv is None else argv, Alone())


if __name__ == "__main__":
    main()
