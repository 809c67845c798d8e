# PYTHON_ARGCOMPLETE_OK
"""PPO2's only loop: pretraining on all levels at once and playing one level both run it.

python -m ppo2.train --preset joint --levels bramble-train --run-dir runs/joint
python -m ppo2.train --preset contest --levels GAME:STATE --init runs/joint --run-dir runs/new
torchrun --nproc-per-node 2 -m ppo2.train --preset joint --num-envs 8 --run-dir runs/joint
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ppo2.agent import PPO2Agent
from ppo2.config import PPO2Config
from ppo2.training import Training
from retro_agents.contract.envs import VectorEnv
from retro_agents.contract.policy import OnCheckpoint, reached
from retro_agents.experience.rollouts import minibatches
from retro_agents.experience.saving import reports
from retro_agents.games.families import level_names, make_for, train
from retro_agents.ground.errors import UserError, command
from retro_agents.judging.periodic import judged
from retro_agents.run.command_line import load_run_config
from retro_agents.run.config import replaced
from retro_agents.run.distributed import Group, joined
from retro_agents.run.folder import interruptible

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, PPO2Config, presets=PRESETS, command="python -m ppo2.train")


def run(
    envs: VectorEnv,
    config: PPO2Config,
    run_dir: Path | str,
    init: Path | str | None = None,
    *,
    on_checkpoint: OnCheckpoint | None = None,
) -> PPO2Agent:
    """Train on `envs` for config.run.timesteps agent steps and return the agent.

    run_dir: where config, metrics, episodes and checkpoints go; with config.run.resume a run goes
    on. init: a checkpoint that gives the weights. In a group of processes, each calls this with
    environments of its own; the first one writes. on_checkpoint: called after each checkpoint,
    there.
    """
    training = Training(config, envs.num_envs)
    collector = training.collector
    if config.run.resume:
        obs = training.restore(run_dir, envs)
    else:
        if init:
            training.agent.start_from(init)
        obs, _ = envs.reset(seed=collector.env_seeds())

    def keep() -> None:
        training.save(run_dir, envs)
        if on_checkpoint and collector.group.first:
            on_checkpoint(Path(run_dir), reached(collector))

    with (
        reports(run_dir, collector, "ppo2") as report,
        interruptible(run_dir, rank=training.group.rank, size=training.group.size) as interrupted,
    ):
        group = collector.group
        while collector.env_steps < config.run.timesteps and not group.any(interrupted()):
            obs = collector.play(envs, obs)
            if collector.rollout.full:
                values = learn(training, obs)
                if training.group.first:
                    values |= judged(training.agent, config, collector)
                report(values)
                if collector.passes(training.checkpoint_every):
                    keep()
        report({})
        keep()
    return training.agent


def learn(training: Training, obs: NDArray[np.uint8]) -> dict[str, float]:
    """Learn from the full rollout, which led to `obs`, and begin another -> metrics."""
    config, collector, rollout = training.config, training.collector, training.collector.rollout
    rewards, bonuses = training.rewards(obs)
    advantages, explained = collector.advantages(obs, rewards, gamma=config.gamma, lam=config.lam)
    shuffled = partial(
        minibatches,
        collector.rngs,
        rollout.steps,
        count=config.minibatches,
        length=config.sequence_steps,
    )
    losses = training.learner.update(
        rollout.batch(advantages),
        [shuffled() for _ in range(config.epochs)],
        part=collector.part_of_run(),
        chance=collector.chance,
    )
    training.updates += 1
    collector.begin_rollout()
    return {"explained_variance": explained, **losses, **bonuses, "updates": training.updates}


def resolve(config: PPO2Config) -> PPO2Config:
    """With one environment per level spelled out."""
    if config.run.num_envs:
        return config
    return replaced(config, num_envs=len(level_names(config.run.levels)), rotate_every=0)


def make_envs(config: PPO2Config, group: Group) -> VectorEnv:
    """This process's share of the environments, with the levels it would have in one alone."""
    run = config.run
    part = group.share(run.num_envs)
    share = part.stop - part.start
    if config.sequence_steps == config.rollout_steps > 1 and share % config.minibatches:
        raise UserError(
            f"each process has {share} environments to deal out to {config.minibatches} "
            "minibatches whole: give --num-envs such that this goes without rest"
        )
    return make_for(config, part=part)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Train as the command line says."""
    config = resolve(parse(argv))
    with joined(config.run.device) as device:
        config = replaced(config, device=device)
        train(run, config, make_envs(config, Group()))


if __name__ == "__main__":
    main()
