# PYTHON_ARGCOMPLETE_OK
"""Rainbow's only loop: pretraining on rotating levels and playing one level both run it.

python -m rainbow.train --levels bramble-train --rotate-every 5000 --run-dir runs/pretrained
python -m rainbow.train --levels GAME:STATE --num-envs 1 --init runs/pretrained --run-dir runs/new
python -m rainbow.train --preset ape-x --levels procgen:coinrun --actors 2 --run-dir runs/actors
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rainbow.agent import RainbowAgent
from rainbow.config import RainbowConfig
from rainbow.play import playing
from rainbow.training import Training
from retro_agents.contract.envs import VectorEnv
from retro_agents.contract.policy import OnCheckpoint, reached
from retro_agents.experience.actors import saved_if_gone
from retro_agents.games.families import make_for, train
from retro_agents.ground.errors import command
from retro_agents.judging.periodic import judged
from retro_agents.run.command_line import load_run_config
from retro_agents.run.folder import interruptible, reports

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, RainbowConfig, presets=PRESETS, command="python -m rainbow.train")


def run(
    envs: VectorEnv | None,
    config: RainbowConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
    *,
    on_checkpoint: OnCheckpoint | None = None,
) -> RainbowAgent:
    """Train on `envs` for config.run.timesteps agent steps and return the agent.

    envs: None where config.acting asks for actors, which make their own. run_dir: where config,
    metrics, episodes and checkpoints go; with config.run.resume an existing run goes on. init: a
    checkpoint that gives weights, and config.init_replay of its transitions. on_checkpoint: called
    after each checkpoint.
    """
    settings = config.run
    training = Training(config, settings.num_envs if envs is None else envs.num_envs)
    obs = None
    if settings.resume:
        obs = training.restore(run_dir, envs)
    else:
        if init:
            training.start_from(init)
        if config.init_encoder:
            training.take_encoder(config.init_encoder)
    agent = training.agent
    with (
        playing(training, envs, obs) as player,
        reports(run_dir, config, "rainbow", env_steps=training.env_steps) as report,
        interruptible(run_dir) as interrupted,
    ):
        folder, metrics, episodes, progress = report

        def keep() -> None:
            training.save(folder.checkpoints, envs)
            if on_checkpoint:
                on_checkpoint(Path(run_dir), reached(training))

        while training.env_steps < settings.timesteps and not interrupted():
            player.begin()
            while training.updates < training.updates_due():  # while the emulators run
                training.update()
            with saved_if_gone(keep, elsewhere=envs is None):
                step = player.wait()
            training.add(step)
            for episode in step.episodes:
                episodes.log(training.env_steps, step.first + episode["env"], episode)
                training.recent_returns.append(episode["r"])
            if training.passes(config.target_every):
                training.learner.copy_target()
            if training.passes(config.log_every):
                values = training.summary() | player.summary() | judged(agent, config, training)
                metrics.log(training.env_steps, values)
                progress.update(training.env_steps, values)
            if training.passes(settings.checkpoint_every):
                keep()
        progress.update(training.env_steps)
        if not training.passes(settings.checkpoint_every):
            keep()
    return agent


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Train as the command line says."""
    config = parse(argv)
    train(run, config, None if config.acting.actors else make_for(config))


if __name__ == "__main__":
    main()
