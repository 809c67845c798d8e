# PYTHON_ARGCOMPLETE_OK
"""JERK's only loop: searching levels for experience and playing the contest both run it.

python -m jerk.train --preset mutating --levels GAME:STATE --timesteps 200000 --run-dir runs/jerk
"""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from jerk import recordings
from jerk.config import JerkConfig
from retro_agents.contract.envs import VectorEnv, ended_episodes
from retro_agents.contract.policy import Agent
from retro_agents.games.families import make_for, train
from retro_agents.ground.errors import command
from retro_agents.ground.files import folder_for
from retro_agents.run.command_line import load_run_config
from retro_agents.run.folder import RunFolder
from retro_agents.run.run import Run

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, JerkConfig, presets=PRESETS, command="python -m jerk.train")


def run(
    envs: VectorEnv,
    config: JerkConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
) -> Agent:
    """Search on `envs` for config.run.timesteps agent steps and return the agent.

    init: a checkpoint of JERK that gives sequences, memory and policy, or of another agent that
    gives the policy. The others: see `Run`; sequences.json is in the run's folder too.
    """
    from jerk.training import Training  # brings PyTorch, for which --help does not wait

    training = Training(config, envs.num_envs)
    with Run(training, envs, run_dir, init) as run:
        obs = run.obs
        while run.goes_on():
            actions = training.search.actions(training.episodes, obs)
            envs.step_async(actions)
            training.learn()  # while the emulators run
            obs, rewards, terminated, _, infos = envs.step_wait()
            training.add(actions, rewards)
            episodes = []
            for episode in ended_episodes(infos):
                env = episode["env"]
                final_obs = infos["final_obs"][env]
                episodes.append(training.end(episode, final_obs, terminated=bool(terminated[env])))
                training.begin_episode(env, obs[env], envs.levels[env])
            run.after(episodes, training.summary() if run.due(config.log_every) else {})
    return training.agent


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Search as the command line says."""
    config = parse(argv)
    if not config.run.resume:
        # Before a recording begins there.
        RunFolder(Path(config.run.run_dir)).check_free(anew=config.run.auto_resume)
    folder = Path(config.run.run_dir) / recordings.FOLDER
    with folder_for(folder) if config.record else nullcontext():
        train(run, config, make_for(config, record_dir=folder if config.record else None))


if __name__ == "__main__":
    main()
