# PYTHON_ARGCOMPLETE_OK
"""IMPALA's only loop, whether its actors are this process or many others.

python -m impala.train --preset fast --levels bramble-train --run-dir runs/impala
python -m impala.train --preset fast --levels bramble-train --actors 2 --run-dir runs/actors
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from impala.agent import ImpalaAgent
from impala.config import ImpalaConfig
from impala.play import playing
from impala.training import Training
from retro_agents.contract.envs import VectorEnv
from retro_agents.contract.policy import OnCheckpoint, reached
from retro_agents.experience.actors import Here, saved_if_gone
from retro_agents.games.families import make_for, train
from retro_agents.ground.errors import command
from retro_agents.judging.periodic import judged
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.command_line import load_run_config
from retro_agents.run.folder import interruptible, reports

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, ImpalaConfig, presets=PRESETS, command="python -m impala.train")


def run(
    envs: VectorEnv | None,
    config: ImpalaConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
    *,
    on_checkpoint: OnCheckpoint | None = None,
) -> ImpalaAgent:
    """Train on `envs` for config.run.timesteps agent steps and return the agent.

    envs: None where config.acting asks for actors, which make their own. run_dir: where config,
    metrics, episodes and checkpoints go; with config.run.resume a run goes on. init: a checkpoint
    that gives the weights. on_checkpoint: called after each checkpoint.
    """
    settings = config.run
    training, saved = Training(config), None
    if settings.resume:
        saved = training.restore(run_dir)
    elif init:
        training.agent.load_weights(load_checkpoint(init))

    def keep() -> None:
        training.save(run_dir, player)
        if on_checkpoint:
            on_checkpoint(Path(run_dir), reached(training))

    with (
        playing(training.agent, envs, version=training.updates, saved=saved) as actors,
        reports(run_dir, config, "impala", env_steps=training.env_steps) as report,
        interruptible(run_dir) as interrupted,
    ):
        _, metrics, episodes, progress = report
        player = actors.player if isinstance(actors, Here) else None
        while training.env_steps < settings.timesteps and not interrupted():
            with saved_if_gone(keep, elsewhere=player is None):
                played = actors.next()
            block = played.block
            for step, env, episode in block.episodes:
                episodes.log(training.env_steps + step, env, episode)
            training.count(block)
            values = {}
            if block.sequences is not None:
                values = training.learn(block.sequences)
            actors.go_on(played.actor, training.updates)
            values |= judged(training.agent, config, training)
            if values:
                metrics.log(training.env_steps, {**values, "actor_restarts": actors.restarts})
            progress.update(training.env_steps, values)
            if training.passes(settings.checkpoint_every):
                keep()
        keep()
    return training.agent


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Train as the command line says."""
    config = parse(argv)
    train(run, config, None if config.acting.actors else make_for(config))


if __name__ == "__main__":
    main()
