"""Tally's only loop."""

from functools import partial
from pathlib import Path

from retro_agents.contract.envs import ended_episodes
from retro_agents.games.families import make_for, train
from retro_agents.ground.errors import command
from retro_agents.run.command_line import load_run_config
from retro_agents.run.run import Run
from tally.config import TallyConfig

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, TallyConfig, presets=PRESETS, command="python -m tally.train")


def run(envs, config, run_dir, init=None, *, on_checkpoint=None):
    from tally.training import Training

    training = Training(config)
    with Run(training, envs, run_dir, init, on_checkpoint=on_checkpoint) as run:
        obs = run.obs
        while run.goes_on():
            actions = training.act(obs)
            obs, rewards, *_, infos = envs.step(actions)
            training.learn(actions, rewards)
            episodes = ended_episodes(infos)
            training.recent_returns.extend(episode["r"] for episode in episodes)
            steps = training.env_steps
            rows = [(steps, episode["env"], episode) for episode in episodes]
            run.after(rows, {"best": float(training.agent.act(obs)[0])})
    return training.agent


@command
def main(argv=None):
    config = parse(argv)
    train(run, config, make_for(config))


if __name__ == "__main__":
    main()
