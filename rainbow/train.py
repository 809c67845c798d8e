# PYTHON_ARGCOMPLETE_OK
"""Rainbow's only loop: pretraining on rotating levels and playing one level both run it.

python -m rainbow.train --levels bramble-train --rotate-every 5000 --run-dir runs/pretrained
python -m rainbow.train --levels GAME:STATE --num-envs 1 --init runs/pretrained --run-dir runs/new
"""

import copy
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from envs import VectorEnv, ended_episodes, make_for, saved_states
from envs.evaluation import judged
from experience.episodes import episodes_of
from experience.handover import check_made_alike, seed_replay
from experiment import seeding
from experiment.checkpoint import load_checkpoint, load_to_resume, save_checkpoint
from experiment.config import load_run_config
from experiment.device import prepare_device
from experiment.errors import UserError, command
from experiment.optimiser import optimiser_tensors, restore_optimiser
from experiment.run_folder import interruptible, reports
from nets.transfer import load_encoder
from rainbow import PRESETS
from rainbow.agent import RainbowAgent, make_net
from rainbow.config import RainbowConfig
from rainbow.learner import Learner, blend, epsilon_ladder, linear, updates_due
from rainbow.memory import make_replay

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


@dataclass
class Training:
    """All that changes during a run: what a checkpoint holds."""

    config: RainbowConfig
    num_envs: int
    env_steps: int = 0
    updates: int = 0
    seeded: int = 0
    frozen_updates: int = 0
    recent_returns: deque[float] = field(default_factory=lambda: deque(maxlen=100))
    latest: dict[str, torch.Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        config, settings = self.config, self.config.run
        seeding.seed_everything(settings.seed)
        self.rng = np.random.default_rng(settings.seed)
        self.device = prepare_device(settings.device, threads=config.torch_threads)
        net = make_net(config).to(self.device)
        self.agent = RainbowAgent(net, config, device=str(self.device))
        self.learner = Learner(net, config, device=self.device)
        try:
            self.replay = make_replay(config, config.replay_size, self.num_envs)
        except ValueError as error:
            raise UserError(f"{error}; give a larger --replay-size or fewer --num-envs") from None

    def passes(self, every: int) -> bool:
        """Whether the last step reached or crossed a multiple of `every`; never where that is 0."""
        return every > 0 and self.env_steps > 0 and self.env_steps % every < self.num_envs

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

    def updates_due(self) -> int:
        """Updates that should have been made by now; none more while there is nothing to draw."""
        if self.replay.tree.total <= 0.0:
            return self.updates
        return updates_due(self.config, self.env_steps, seeded=self.seeded)

    def update(self) -> None:
        """Draw a batch, learn from it, and set its priorities."""
        config = self.config
        beta = linear(
            config.priority_beta,
            config.priority_beta_final,
            step=self.env_steps,
            steps=config.priority_beta_steps or config.run.timesteps,
        )
        batch = self.replay.sample(config.batch_size, beta=beta, rng=self.rng)
        # Without gradients Adam passes the encoder over and begins with it when it thaws.
        self.agent.net.encoder.requires_grad_(self.updates >= self.frozen_updates)
        losses, self.latest = self.learner.update(batch)
        self.replay.update_priorities(batch.indices, losses.cpu().numpy())
        self.updates += 1

    def set_priorities(self, indices: NDArray[np.int64]) -> None:
        """Let transitions that were never drawn have their losses as priorities."""
        if len(indices):
            batch = self.replay.gather(indices, np.ones(len(indices), np.float32))
            self.replay.update_priorities(indices, self.learner.priorities(batch))

    def summary(self) -> dict[str, float]:
        """The numbers of one row of metrics.csv."""
        values = {name: float(value) for name, value in self.latest.items()}
        if self.recent_returns:
            values["mean_return"] = float(np.mean(self.recent_returns))
        return {**values, "updates": self.updates, "replay": self.replay.size}

    def save(self, folder: Path, envs: VectorEnv) -> Path:
        """Write a checkpoint from which `restore` goes on exactly."""
        return save_checkpoint(
            folder,
            agent="rainbow",
            config=self.config,
            counters={
                "env_steps": self.env_steps,
                "updates": self.updates,
                "seeded": self.seeded,
                "frozen_updates": self.frozen_updates,
            },
            tensors={
                "net": self.agent.net.state_dict(),
                "target": self.learner.target.state_dict(),
                "optimiser": optimiser_tensors(self.learner.optimiser),
            },
            arrays=self.replay.arrays(),
            state={
                "rng": seeding.rng_state(),
                "replay_rng": seeding.generator_state(self.rng),
                "recent_returns": list(self.recent_returns),
                "envs": saved_states(envs),
            },
        )

    def restore(self, run_dir: Path | str, envs: VectorEnv) -> NDArray[np.uint8]:
        """Be what the last checkpoint of a run was -> the observations to act on."""
        saved = load_to_resume(run_dir)
        self.agent.load_weights(saved)
        if "replay_rng" not in saved.state:
            raise UserError(f"{saved.folder} is an agent alone, not a run: give it to --init")
        config = self.config
        check_made_alike(saved, config.env, instead="begin anew", n_step=config.n_step)
        self.learner.target.load_state_dict(saved.tensors["target"])
        restore_optimiser(self.learner.optimiser, saved.tensors["optimiser"])
        try:
            self.replay.restore(saved.arrays)
        except ValueError as error:
            raise UserError(f"cannot resume {run_dir}: {error}; resume with the same") from None
        self.env_steps, self.updates = saved.counters["env_steps"], saved.counters["updates"]
        self.seeded = saved.counters["seeded"]
        self.frozen_updates = saved.counters.get("frozen_updates", 0)
        self.recent_returns.extend(saved.state["recent_returns"])
        seeding.set_generator_state(self.rng, saved.state["replay_rng"])
        obs = envs.restore_states(saved.state["envs"])
        seeding.set_rng_state(saved.state["rng"])
        return obs

    def start_from(self, init: Path | str) -> None:
        """Take the weights of another run's checkpoint, and its newest transitions as a seed; of
        recorded episodes without a Rainbow, only these."""
        saved, config = load_checkpoint(init), self.config
        if saved.agent == "rainbow" or not episodes_of(saved):
            fresh = copy.deepcopy(self.agent.net)
            self.agent.load_weights(saved)
            blend(self.agent.net, fresh, share=config.init_shrink)
            self.learner.copy_target()
        self.seeded = seed_replay(self.replay, saved, config.init_replay, ours=config.env)

    def take_encoder(self, source: Path | str) -> None:
        """Take the convolutions of any agent's checkpoint, and keep them for a while as asked."""
        load_encoder(self.agent.net.encoder, source)
        self.learner.copy_target()
        self.frozen_updates = self.config.freeze_encoder_updates


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Train as the command line says."""
    config = parse(argv)
    settings = config.run
    envs = make_for(config)
    with closing(envs):
        run(envs, config, settings.run_dir, init=settings.init or None)


if __name__ == "__main__":
    main()
