"""JERK's only loop: searching levels for experience and playing the contest both run it.

python -m jerk.train --preset mutating --levels GAME:STATE --timesteps 200000 --run-dir runs/jerk
"""

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from experiment.config import load_run_config, subset
from experiment.errors import command
from experiment.metrics import EpisodeLog, Metrics
from experiment.progress import Progress
from experiment.run_folder import RunFolder, resumable
from jerk.agent import JerkAgent
from jerk.config import JerkConfig
from jerk.recordings import RECORDINGS
from jerk.saving import restore, save, start_from
from jerk.training import Training
from retro_env import EnvConfig, RetroVectorEnv, ended_episodes, make_vec, parse_levels

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, JerkConfig, presets=PRESETS, command="python -m jerk.train")
"""Arguments of a command line -> its config."""


def run(
    envs: RetroVectorEnv,
    config: JerkConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
) -> JerkAgent:
    """Search on `envs` for config.timesteps agent steps and return the agent.

    run_dir: where config, metrics, episodes, sequences.json and checkpoints go; with config.resume
    an existing run goes on. init: a checkpoint of JERK that gives sequences, memory and policy, or
    of another agent that gives the policy.
    """
    training = Training(config, envs.num_envs)
    if config.resume:
        folder = RunFolder.open(run_dir)
        obs = restore(training, folder.path, envs)
        folder.write_config(config)
    else:
        start_from(training, init)
        folder = RunFolder.create(run_dir, config)
        obs, _ = envs.reset(seed=config.seed)
        training.begin(obs, envs.levels)
    start = training.env_steps if config.resume else None
    with (
        Metrics(folder.path, resume_step=start) as metrics,
        EpisodeLog(folder.path, resume_step=start) as episodes,
        Progress(config.timesteps, "jerk", start=training.env_steps) as progress,
    ):
        while training.env_steps < config.timesteps:
            actions = training.act(obs)
            envs.step_async(actions)
            while training.updates < training.updates_due():  # while the emulators run
                training.update()
            obs, rewards, terminated, _, infos = envs.step_wait()
            training.add(actions, rewards)
            for episode in ended_episodes(infos):
                env = episode["env"]
                episodes.log(training.env_steps, env, episode)
                training.end(episode, infos["final_obs"][env], terminated=bool(terminated[env]))
                training.begin_play(env, obs[env], envs.levels[env])
            if training.passes(config.log_every):
                values = training.summary()
                metrics.log(training.env_steps, values)
                progress.update(training.env_steps, values)
            if training.passes(config.checkpoint_every):
                save(training, folder, envs)
        progress.update(training.env_steps)
        if not training.passes(config.checkpoint_every):
            save(training, folder, envs)
    return training.agent


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Search as the command line says."""
    config = parse(argv)
    envs = make_vec(
        parse_levels(config.levels),
        num_envs=config.num_envs,
        config=subset(config, EnvConfig),
        seed=config.seed,
        rotate_every=config.rotate_every,
        record_dir=Path(config.run_dir) / RECORDINGS if config.record else None,
    )
    with closing(envs), resumable(config.run_dir):
        run(envs, config, config.run_dir, init=config.init or None)


if __name__ == "__main__":
    main()
