# PYTHON_ARGCOMPLETE_OK
"""JERK's only loop: searching levels for experience and playing the contest both run it.

python -m jerk.train --preset mutating --levels GAME:STATE --timesteps 200000 --run-dir runs/jerk
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from jerk import recordings
from jerk.agent import JerkAgent
from jerk.config import JerkConfig
from jerk.saving import restore, save
from jerk.training import Training
from retro_agents.contract.envs import VectorEnv, ended_episodes
from retro_agents.games.families import make_for, train
from retro_agents.ground.errors import command
from retro_agents.run.command_line import load_run_config
from retro_agents.run.folder import RunFolder, interruptible, reports

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, JerkConfig, presets=PRESETS, command="python -m jerk.train")


def run(
    envs: VectorEnv,
    config: JerkConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
) -> JerkAgent:
    """Search on `envs` for config.run.timesteps agent steps and return the agent.

    run_dir: where config, metrics, episodes, sequences.json and checkpoints go; with
    config.run.resume an existing run goes on. init: a checkpoint of JERK that gives sequences,
    memory and policy, or of another agent that gives the policy.
    """
    training = Training(config, envs.num_envs)
    if config.run.resume:
        obs = restore(training, Path(run_dir), envs)
    else:
        training.agent.start_from(init)
        obs, _ = envs.reset(seed=config.run.seed)
        training.begin(obs, envs.levels)
    agent = training.agent
    with (
        reports(run_dir, config, "jerk", env_steps=training.env_steps) as report,
        interruptible(run_dir) as interrupted,
    ):
        folder, metrics, episodes, progress = report
        while training.env_steps < config.run.timesteps and not interrupted():
            actions = training.search.actions(training.episodes, obs)
            envs.step_async(actions)
            obs, rewards, terminated, _, infos = envs.step_wait()
            training.add(actions, rewards)
            for episode in ended_episodes(infos):
                env = episode["env"]
                kind = training.episodes[env].kind
                episodes.log(training.env_steps, env, {**episode, "kind": kind})
                training.end(episode, infos["final_obs"][env], terminated=bool(terminated[env]))
                training.begin_play(env, obs[env], envs.levels[env])
            if training.passes(config.log_every):
                values = training.summary()
                metrics.log(training.env_steps, values)
                progress.update(training.env_steps, values)
            if training.passes(config.run.checkpoint_every):
                save(training, folder, envs)
        progress.update(training.env_steps)
        if not training.passes(config.run.checkpoint_every):
            save(training, folder, envs)
    return agent


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Search as the command line says."""
    config = parse(argv)
    if not config.run.resume:
        RunFolder(Path(config.run.run_dir)).check_free()  # before a recording begins there
    folder = Path(config.run.run_dir) / recordings.FOLDER
    train(run, config, make_for(config, record_dir=folder if config.record else None))


if __name__ == "__main__":
    main()
