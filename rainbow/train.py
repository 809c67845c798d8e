# PYTHON_ARGCOMPLETE_OK
"""Rainbow's only loop: pretraining on rotating levels and playing one level both run it.

python -m rainbow.train --levels bramble-train --rotate-every 5000 --run-dir runs/pretrained
python -m rainbow.train --levels GAME:STATE --num-envs 1 --init runs/pretrained --run-dir runs/new
"""

import copy
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from envs import VectorEnv, ended_episodes, make_for, train
from envs.evaluation import judged
from experience.off_policy import OffPolicy
from experiment.checkpoint import Checkpoint
from experiment.config import load_run_config
from experiment.errors import command
from experiment.run_folder import interruptible, reports
from nets.transfer import load_encoder
from rainbow import PRESETS
from rainbow.agent import RainbowAgent, make_net
from rainbow.config import RainbowConfig
from rainbow.learner import Learner, blend, epsilon_ladder, linear

parse = partial(load_run_config, RainbowConfig, presets=PRESETS, command="python -m rainbow.train")
"""Arguments of a command line -> its config."""


def run(
    envs: VectorEnv,
    config: RainbowConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
) -> RainbowAgent:
    """Train on `envs` for config.run.timesteps agent steps and return the agent.

    run_dir: where config, metrics, episodes and checkpoints go; with config.run.resume an existing
    run goes on. init: a checkpoint that gives weights, and config.init_replay of its transitions.
    """
    settings = config.run
    training = Training(config, envs.num_envs)
    if settings.resume:
        obs = training.restore(run_dir, envs)
    else:
        if init:
            training.start_from(init)
        if config.init_encoder:
            training.take_encoder(config.init_encoder)
        obs, _ = envs.reset(seed=settings.seed)
    agent, learner, replay = training.agent, training.learner, training.replay
    with (
        reports(run_dir, config, "rainbow", env_steps=training.env_steps) as report,
        interruptible(run_dir) as interrupted,
    ):
        folder, metrics, episodes, progress = report
        while training.env_steps < settings.timesteps and not interrupted():
            actions = agent.act(obs, explore=True, epsilon=training.epsilon())
            envs.step_async(actions)
            while training.updates < training.updates_due():  # while the emulators run
                training.update()
            next_obs, rewards, terminated, truncated, infos = envs.step_wait()
            complete = replay.add(
                obs, actions, rewards, terminated, truncated, infos.get("final_obs", next_obs)
            )
            if config.initial_priorities:
                training.set_priorities(complete)
            obs = next_obs
            training.env_steps += envs.num_envs
            for episode in ended_episodes(infos):
                episodes.log(training.env_steps, episode["env"], episode)
                training.recent_returns.append(episode["r"])
            if training.passes(config.target_every):
                learner.copy_target()
            if training.passes(config.log_every):
                values = training.summary() | judged(agent, config, training)
                metrics.log(training.env_steps, values)
                progress.update(training.env_steps, values)
            if training.passes(settings.checkpoint_every):
                training.save(folder.checkpoints, envs)
        progress.update(training.env_steps)
        if not training.passes(settings.checkpoint_every):
            training.save(folder.checkpoints, envs)
    return agent


class Training(OffPolicy):
    """Rainbow's nets, and what a run is made of."""

    name = "rainbow"

    def __init__(self, config: RainbowConfig, num_envs: int) -> None:
        super().__init__(config, num_envs)
        self.frozen_updates = 0
        net = make_net(config).to(self.device)
        self.agent = RainbowAgent(net, config, device=str(self.device))
        self.learner = Learner(net, config, device=self.device)

    def epsilon(self) -> NDArray[np.float32] | None:
        """Rates of random actions now, [N]; None: the noise explores."""
        config = self.config
        if config.noisy:
            return None
        rate = linear(
            config.epsilon_start,
            config.epsilon_final,
            step=self.env_steps,
            steps=config.epsilon_steps,
        )
        return epsilon_ladder(rate, self.num_envs, exponent=config.epsilon_ladder)

    def update(self) -> None:
        """Draw a batch, learn from it, and set its priorities."""
        config = self.config
        beta = linear(
            config.priority_beta,
            config.priority_beta_final,
            step=self.env_steps,
            steps=config.priority_beta_steps or config.run.timesteps,
        )
        # Without gradients Adam passes the encoder over and begins with it when it thaws.
        self.agent.net.encoder.requires_grad_(self.updates >= self.frozen_updates)
        self.learn(beta=beta)

    def set_priorities(self, indices: NDArray[np.int64]) -> None:
        """Let transitions that were never drawn have their losses as priorities."""
        if len(indices):
            batch = self.replay.gather(indices, np.ones(len(indices), np.float32))
            self.replay.update_priorities(indices, self.learner.priorities(batch))

    def counters(self) -> dict[str, int]:
        """What is counted, by its attribute's name."""
        return {**super().counters(), "frozen_updates": self.frozen_updates}

    def take(self, saved: Checkpoint) -> None:
        """Take a checkpoint's weights, shrunk towards fresh ones as asked."""
        fresh = copy.deepcopy(self.agent.net)
        self.agent.load_weights(saved)
        blend(self.agent.net, fresh, share=self.config.init_shrink)
        self.learner.copy_target()

    def take_encoder(self, source: Path | str) -> None:
        """Take the convolutions of any agent's checkpoint, and keep them for a while as asked."""
        load_encoder(self.agent.net.encoder, source)
        self.learner.copy_target()
        self.frozen_updates = self.config.freeze_encoder_updates


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Train as the command line says."""
    config = parse(argv)
    train(run, config, make_for(config))


if __name__ == "__main__":
    main()
