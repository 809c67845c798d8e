# PYTHON_ARGCOMPLETE_OK
"""PPO2's only loop: pretraining on all levels at once and playing one level both run it.

python -m ppo2.train --preset joint --levels bramble-train --run-dir runs/joint
python -m ppo2.train --preset contest --levels GAME:STATE --init runs/joint --run-dir runs/new
torchrun --nproc-per-node 2 -m ppo2.train --preset joint --num-envs 8 --run-dir runs/joint
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from envs import VectorEnv, level_names, make_for
from envs.evaluation import evaluated
from experience.advantages import explained_variance, generalised_advantages
from experiment.config import load_run_config, replaced
from experiment.distributed import Group, joined
from experiment.errors import UserError, command
from experiment.run_folder import interruptible
from nets.actor_critic import sample_actions
from ppo2 import PRESETS
from ppo2.agent import PPO2Agent
from ppo2.config import PPO2Config
from ppo2.memory import minibatches
from ppo2.pieces import with_pieces
from ppo2.saving import reports, restore, save
from ppo2.training import Training

parse = partial(load_run_config, PPO2Config, presets=PRESETS, command="python -m ppo2.train")
"""Arguments of a command line -> its config."""


def run(
    envs: VectorEnv,
    config: PPO2Config,
    run_dir: Path | str,
    init: Path | str | None = None,
) -> PPO2Agent:
    """Train on `envs` for config.run.timesteps agent steps and return the agent.

    run_dir: where config, metrics, episodes and checkpoints go; with config.run.resume a run goes
    on. init: a checkpoint that gives the weights, or several, with commas between, of which
    the best does. In a group of processes, each calls this with environments of its own; the first
    one writes.
    """
    if config.recurrent != "none" and config.sequence_steps == 1:
        raise UserError("--recurrent learns nothing over time with --sequence-steps 1: give more")
    config = with_pieces(config, envs.num_envs)
    training = Training(config, envs.num_envs)
    candidates = [name for name in str(init or "").split(",") if name and not config.run.resume]
    if config.run.resume:
        obs = restore(training, run_dir, envs)
    else:
        for candidate in candidates:
            training.agent.start_from(candidate)
        obs, _ = envs.reset(seed=training.env_seeds())
    with (
        reports(run_dir, config, training) as report,
        interruptible(run_dir, alone=training.group.size == 1) as interrupted,
    ):
        if len(candidates) > 1:
            obs = choose(candidates, training, envs, obs)
        while training.env_steps < config.run.timesteps and not interrupted():
            obs = play(training, envs, obs)
            if training.rollout.full:
                values = learn(training, obs)
                if training.passes(config.evaluation.evaluate_every) and training.group.first:
                    values |= evaluated(training.agent, config, env_steps=training.env_steps)
                report(values)
                if training.passes(training.checkpoint_every):
                    save(training, run_dir, envs)
        report({})
        save(training, run_dir, envs)
    return training.agent


def play(training: Training, envs: VectorEnv, obs: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Fill the rollout, as far as the run's steps allow, from `obs` -> the observations then.

    The emulators of one part run while the next actions of another are chosen: a part waits for
    its own emulators only.
    """
    obs, steps = obs.copy(), training.steps_to_play()
    with training.agent.autocast():
        for step in range(steps + 1):
            for part in training.parts:
                if step > 0:
                    obs[part], *outcome = envs.step_wait(part)
                    training.add(outcome, levels=envs.levels[part], part=part)
                if step < steps:
                    envs.step_async(training.act(obs[part], part), part)
    return obs


def learn(training: Training, obs: NDArray[np.uint8]) -> dict[str, float]:
    """Learn from the full rollout, which led to `obs`, and begin another -> metrics."""
    config, rollout = training.config, training.rollout
    rewards, bonuses = training.rewards(obs)
    values = rollout.values.cpu().numpy()
    advantages = generalised_advantages(
        rewards,
        values,
        training.next_values(obs),
        rollout.terminated,
        rollout.ended,
        gamma=config.gamma,
        lam=config.lam,
    )
    shuffled = partial(
        minibatches,
        training.rngs,
        rollout.steps,
        count=config.minibatches,
        length=config.sequence_steps,
    )
    losses = training.learner.update(
        rollout.batch(advantages, noise=training.noise),
        [shuffled() for _ in range(config.epochs)],
        part=training.part_of_run(),
        chance=training.chance,
    )
    everyone = training.group.gather((values, advantages + values))
    explained = explained_variance(*(np.hstack(parts) for parts in zip(*everyone, strict=True)))
    training.updates += 1
    training.begin_rollout()
    return {"explained_variance": explained, **losses, **bonuses, "updates": training.updates}


def choose(
    candidates: Sequence[str], training: Training, envs: VectorEnv, obs: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Leave the agent with the weights of the highest mean return -> the observations then.

    Each plays `init_episodes` episodes in turn, drawing actions from its policy; these steps and
    episodes count like all others. With many environments the episodes under way at a change are
    counted for the net that ends them. Where the run's steps end before all have played, the best
    so far goes on.
    """
    means, everyone, config = [], slice(0, training.num_envs), training.config
    for candidate in candidates:
        training.agent.start_from(candidate)
        training.state.zero_()
        returns: list[float] = []
        while len(returns) < config.init_episodes and training.env_steps < config.run.timesteps:
            before = len(training.ended)
            log_probs, _, training.state = training.agent.evaluate(
                torch.from_numpy(obs).to(training.device),
                state=training.state,
                starts=torch.from_numpy(training.starts).to(training.device),
                noise=training.noise,
            )
            uniforms = torch.tensor([rng.random() for rng in training.rngs]).to(log_probs)
            actions = sample_actions(log_probs, uniforms).cpu().numpy()
            obs, *outcome = envs.step(actions)
            training.count(outcome, part=everyone)
            ended = training.group.gather([e["r"] for _, _, e in training.ended[before:]])
            returns += [value for values in ended for value in values]
        means.append(float(np.mean(returns)) if returns else -np.inf)
    training.agent.start_from(candidates[int(np.argmax(means))])
    training.state.zero_()
    training.begin_rollout()
    return obs


def resolve(config: PPO2Config) -> PPO2Config:
    """With one environment per level, or levels in series, spelled out in steps."""
    levels, run = len(level_names(config.run.levels)), config.run
    if run.num_envs == 0:
        run = replace(run, num_envs=levels, rotate_every=0)
    if config.serial:
        run = replace(run, rotate_every=-(-run.timesteps // (run.num_envs * levels)))
    return replace(config, run=run)


def make_envs(config: PPO2Config, group: Group) -> VectorEnv:
    """This process's share of the environments, with the levels it would have in one alone."""
    run = config.run
    share, rest = divmod(run.num_envs, group.size)
    if rest or not share:
        raise UserError(f"--num-envs {run.num_envs} cannot be shared by {group.size} processes")
    if config.sequence_steps == config.rollout_steps > 1 and share % config.minibatches:
        raise UserError(
            f"each process has {share} environments to deal out to {config.minibatches} "
            "minibatches whole: give --num-envs such that this goes without rest"
        )
    part = slice(group.rank * share, (group.rank + 1) * share)
    return make_for(config, serial=config.serial, part=part)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Train as the command line says."""
    config = resolve(parse(argv))
    with joined(config.run.device) as device:
        config = replaced(config, device=device)
        settings = config.run
        envs = make_envs(config, Group())
        with closing(envs):
            run(envs, config, settings.run_dir, init=settings.init or None)


if __name__ == "__main__":
    main()
