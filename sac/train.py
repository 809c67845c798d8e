# PYTHON_ARGCOMPLETE_OK
"""SAC's only loop: many levels in turn and one level alone both run it.

python -m sac.train --preset laptop --levels bramble-train --run-dir runs/sac
python -m sac.train --preset procgen --levels procgen:coinrun --run-dir runs/coinrun
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from retro_agents.contract.envs import VectorEnv, ended_episodes
from retro_agents.contract.policy import OnCheckpoint, reached
from retro_agents.experience.actors import actor_seed
from retro_agents.experience.off_policy import OffPolicy
from retro_agents.games.families import make_for, train
from retro_agents.ground.errors import command
from retro_agents.judging.periodic import judged
from retro_agents.nets.transfer import follow
from retro_agents.run.checkpoint import Checkpoint
from retro_agents.run.command_line import load_run_config
from retro_agents.run.folder import interruptible, reports
from sac.agent import SACAgent, make_net
from sac.config import SACConfig
from sac.learner import Learner

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, SACConfig, presets=PRESETS, command="python -m sac.train")


def run(
    envs: VectorEnv,
    config: SACConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
    *,
    on_checkpoint: OnCheckpoint | None = None,
) -> SACAgent:
    """Train on `envs` for config.run.timesteps agent steps and return the agent.

    run_dir: where config, metrics, episodes and checkpoints go; with config.run.resume an existing
    run goes on. init: a checkpoint that gives weights, and config.init_replay of its transitions.
    on_checkpoint: called after each checkpoint.
    """
    settings = config.run
    training, obs = Training(config, envs.num_envs), None
    if settings.resume:
        obs = training.restore(run_dir, envs)
    elif init:
        training.start_from(init)
    agent, replay = training.agent, training.replay
    if obs is None:
        replay.cut(np.arange(envs.num_envs))
        obs, _ = envs.reset(seed=actor_seed(settings.seed, 0, training.env_steps))
    with (
        reports(run_dir, config, "sac", env_steps=training.env_steps) as report,
        interruptible(run_dir) as interrupted,
    ):
        folder, metrics, episodes, progress = report

        def keep() -> None:
            training.save(folder.checkpoints, envs)
            if on_checkpoint:
                on_checkpoint(Path(run_dir), reached(training))

        while training.env_steps < settings.timesteps and not interrupted():
            actions = agent.act(obs, explore=True)
            envs.step_async(actions)
            while training.updates < training.updates_due():  # while the games run
                training.learn(beta=config.priority_beta)
            next_obs, rewards, terminated, truncated, infos = envs.step_wait()
            replay.add(
                obs, actions, rewards, terminated, truncated, infos.get("final_obs", next_obs)
            )
            obs = next_obs
            training.env_steps += envs.num_envs
            for episode in ended_episodes(infos):
                episodes.log(training.env_steps, episode["env"], episode)
                training.recent_returns.append(episode["r"])
            if training.passes(config.log_every):
                values = training.summary() | judged(agent, config, training)
                metrics.log(training.env_steps, values)
                progress.update(training.env_steps, values)
            if training.passes(settings.checkpoint_every):
                keep()
        progress.update(training.env_steps)
        if not training.passes(settings.checkpoint_every):
            keep()
    return agent


class Training(OffPolicy):
    """SAC's nets, and what a run is made of."""

    name = "sac"

    def __init__(self, config: SACConfig, num_envs: int) -> None:
        super().__init__(config, num_envs)
        net = make_net(config).to(self.device)
        self.agent = SACAgent(net, config, device=str(self.device))
        self.learner = Learner(net, config, device=self.device)

    def take(self, saved: Checkpoint) -> None:
        """Take a checkpoint's weights."""
        self.agent.load_weights(saved)
        follow(self.learner.target, self.agent.net, rate=1.0)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Train as the command line says."""
    config = parse(argv)
    train(run, config, make_for(config))


if __name__ == "__main__":
    main()
