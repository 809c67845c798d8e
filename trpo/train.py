# PYTHON_ARGCOMPLETE_OK
"""TRPO's only loop.

python -m trpo.train --preset fast --levels bramble-train --run-dir runs/trpo
python -m trpo.train --preset procgen-course --levels procgen:starpilot --run-dir runs/course
torchrun --nproc-per-node 2 -m trpo.train --preset fast --run-dir runs/two
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.envs import VectorEnv
from retro_agents.contract.policy import OnCheckpoint, reached
from retro_agents.experience.collector import Collector
from retro_agents.experience.rollouts import minibatches
from retro_agents.experience.saving import check_run, reports, restore_run, save_run
from retro_agents.games.families import make_for, train
from retro_agents.ground.device import prepare_device
from retro_agents.ground.errors import command
from retro_agents.ground.seeding import seed_everything
from retro_agents.judging.periodic import judged
from retro_agents.run.checkpoint import load_checkpoint, load_to_resume
from retro_agents.run.command_line import load_run_config
from retro_agents.run.config import replaced
from retro_agents.run.distributed import Group, joined
from retro_agents.run.folder import interruptible
from retro_agents.run.optimiser import optimiser_tensors, restore_optimiser
from trpo.agent import TRPOAgent, make_net
from trpo.config import TRPOConfig
from trpo.learner import Learner

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, TRPOConfig, presets=PRESETS, command="python -m trpo.train")


def run(
    envs: VectorEnv,
    config: TRPOConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
    *,
    on_checkpoint: OnCheckpoint | None = None,
) -> TRPOAgent:
    """Train on `envs` for config.run.timesteps agent steps and return the agent.

    run_dir: where config, metrics, episodes and checkpoints go; with config.run.resume a run goes
    on. init: a checkpoint that gives the weights. In a group of processes, each calls this with
    environments of its own; the first one writes. on_checkpoint: called after each checkpoint,
    there.
    """
    training = Training(config, envs.num_envs)
    agent, collector = training.agent, training.collector
    if config.run.resume:
        obs = training.restore(run_dir, envs)
    else:
        if init:
            agent.load_weights(load_checkpoint(init))
        obs, _ = envs.reset(seed=collector.env_seeds())

    def keep() -> None:
        training.save(run_dir, envs)
        if on_checkpoint and collector.group.first:
            on_checkpoint(Path(run_dir), reached(collector))

    with (
        reports(run_dir, collector, "trpo") as report,
        interruptible(run_dir, rank=collector.group.rank, size=collector.group.size) as interrupted,
    ):
        while collector.env_steps < config.run.timesteps and not collector.group.any(interrupted()):
            obs = collector.play(envs, obs)
            if collector.rollout.full:
                values = learn(training, obs)
                if collector.group.first:
                    values |= judged(agent, config, collector)
                report(values)
                if collector.passes(config.run.checkpoint_every):
                    keep()
        report({})
        keep()
    return agent


def learn(training: "Training", obs: NDArray[np.uint8]) -> dict[str, float]:
    """Learn from the full rollout, which led to `obs`, and begin another -> metrics."""
    config, collector = training.config, training.collector
    rollout, group = collector.rollout, collector.group
    rewards: NDArray[np.float32] = rollout.rewards
    if config.normalise_returns:
        rewards = collector.return_scale(rewards, rollout.ended, group)
    advantages, explained = collector.advantages(obs, rewards, gamma=config.gamma, lam=config.lam)
    shuffled = partial(minibatches, collector.rngs, rollout.steps, count=config.minibatches)
    metrics = training.learner.update(
        rollout.batch(advantages), [shuffled() for _ in range(config.epochs)]
    )
    training.updates += 1
    collector.begin_rollout()
    return {"explained_variance": explained, **metrics, "updates": training.updates}


@dataclass
class Training:
    """All that changes during a run: what a checkpoint holds. Playing is `collector`'s."""

    config: TRPOConfig
    num_envs: int
    updates: int = 0

    def __post_init__(self) -> None:
        config = self.config
        seed_everything(config.run.seed)
        device = prepare_device(config.run.device, threads=config.torch_threads)
        net = make_net(config).to(device)
        self.agent = TRPOAgent(net, config, device=str(device))
        self.collector = Collector(
            self.agent,
            self.num_envs,
            rollout_steps=config.rollout_steps,
            return_gamma=config.gamma,
            act_parts=config.act_parts,
        )
        self.learner = Learner(net, config, device=device, group=self.collector.group)

    def save(self, run_dir: Path | str, envs: VectorEnv) -> None:
        """Write a checkpoint from which `restore` goes on exactly, in any number of processes."""
        adam = optimiser_tensors(self.learner.optimiser)
        save_run(
            self.collector,
            run_dir,
            envs,
            agent="trpo",
            updates=self.updates,
            tensors={"net": self.agent.net.state_dict(), "optimiser": adam},
        )

    def restore(self, run_dir: Path | str, envs: VectorEnv) -> NDArray[np.uint8]:
        """Be what the last checkpoint of a run was -> the observations to act on."""
        saved = load_to_resume(run_dir)
        check_run(saved, self.collector)
        self.agent.load_weights(saved)
        saved.check_same(self.config)
        restore_optimiser(self.learner.optimiser, saved.tensors["optimiser"])
        self.updates = saved.counters["updates"]
        return restore_run(saved, self.collector, envs)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Train as the command line says."""
    config = parse(argv)
    with joined(config.run.device) as device:
        config = replaced(config, device=device)
        train(run, config, make_for(config, part=Group().share(config.run.num_envs)))


if __name__ == "__main__":
    main()
