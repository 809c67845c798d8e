"""PPO2's only loop: pretraining on all levels at once and playing one level both run it.

python -m ppo2.train --preset joint --levels bramble-train --run-dir runs/joint
python -m ppo2.train --preset contest --levels GAME:STATE --init runs/joint --run-dir runs/new
torchrun --nproc-per-node 2 -m ppo2.train --preset joint --num-envs 8 --run-dir runs/joint
"""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiment.config import load_run_config, subset
from experiment.distributed import Group, joined
from experiment.errors import UserError, command
from experiment.metrics import EpisodeLog, Metrics
from experiment.progress import Progress
from experiment.run_folder import RunFolder, resumable
from ppo2.agent import PPO2Agent
from ppo2.audition import best_of
from ppo2.config import PPO2Config
from ppo2.saving import restore, save
from ppo2.training import Training
from retro_env import EnvConfig, RetroVectorEnv, parse_levels
from retro_env.integrations import check_playable
from retro_env.vector import assign_levels

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, PPO2Config, presets=PRESETS, command="python -m ppo2.train")
"""Arguments of a command line -> its config."""


def run(
    envs: RetroVectorEnv,
    config: PPO2Config,
    run_dir: Path | str,
    init: Path | str | None = None,
) -> PPO2Agent:
    """Train on `envs` for config.timesteps agent steps and return the agent.

    run_dir: where config, metrics, episodes and checkpoints go; with config.resume an existing run
    goes on. init: a checkpoint that gives the weights. In a group of processes, each calls this
    with environments of its own; the first one writes.
    """
    if config.recurrent != "none" and config.sequence_steps == 1:
        raise UserError("--recurrent learns nothing over time with --sequence-steps 1: give more")
    training = Training(config, envs.num_envs)
    candidates = [name for name in str(init or "").split(",") if name and not config.resume]
    if config.resume:
        obs = restore(training, run_dir, envs)
    else:
        for candidate in candidates:
            training.start_from(candidate)
        obs, _ = envs.reset(seed=training.env_seeds())
    with Reports(run_dir, config, training) as reports, closing(training):
        obs = best_of(candidates, training, envs, obs)
        while training.env_steps < config.timesteps:
            obs = play(training, envs, obs)
            if training.rollout.full:
                reports.write(training.learn(obs))
                if training.passes(config.checkpoint_every):
                    reports.write(training.finish())
                    save(training, run_dir, envs)
        reports.write(training.finish())
        save(training, run_dir, envs)
    return training.agent


def play(training: Training, envs: RetroVectorEnv, obs: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Fill the rollout, as far as the run's steps allow, from `obs` -> the observations then.

    The emulators of one part run while the next actions of another are chosen: a part waits for
    its own emulators only.
    """
    obs, steps = obs.copy(), training.steps_to_play()
    for step in range(steps + 1):
        for part in training.parts:
            if step > 0:
                obs[part], rewards, terminated, truncated, infos = envs.step_wait(part)
                training.add(rewards, terminated, truncated, infos, levels=envs.levels, part=part)
            if step < steps:
                envs.step_async(training.act(obs, part), part)
    return obs


class Reports:
    """metrics.csv, episodes.csv and the progress shown: written by the first process."""

    def __init__(self, run_dir: Path | str, config: PPO2Config, training: Training) -> None:
        self.training, self.stack = training, ExitStack()
        self.first = training.group.first
        if not self.first:
            return
        folder = RunFolder.open(run_dir) if config.resume else RunFolder.create(run_dir, config)
        if config.resume:
            folder.write_config(config)
        start = training.env_steps if config.resume else None
        enter = self.stack.enter_context
        self.metrics = enter(Metrics(folder.path, resume_step=start))
        self.episodes = enter(EpisodeLog(folder.path, resume_step=start))
        self.progress = enter(Progress(config.timesteps, "ppo2", start=training.env_steps))

    def write(self, values: dict[str, float]) -> None:
        """Episodes ended since the last time, and a row of metrics if there are any."""
        training = self.training
        ended = sorted(chain(*training.group.gather(training.ended)), key=lambda e: e[:2])
        training.ended.clear()
        training.recent_returns.extend(episode["r"] for _, _, episode in ended)
        if not self.first:
            return
        for step, env, episode in ended:
            self.episodes.log(step, env, episode)
        if values:
            if training.recent_returns:
                values = {**values, "mean_return": float(np.mean(training.recent_returns))}
            self.metrics.log(training.env_steps, values)
        self.progress.update(training.env_steps, values)

    def __enter__(self) -> "Reports":
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()


def resolve(config: PPO2Config, *, levels: int) -> PPO2Config:
    """With one environment per level, or levels in series, spelled out in steps."""
    if config.num_envs == 0:
        config = replace(config, num_envs=levels, rotate_every=0)
    if config.serial:
        per_level = -(-config.timesteps // (config.num_envs * levels))
        config = replace(config, rotate_every=per_level)
    return config


def make_envs(config: PPO2Config, group: Group) -> RetroVectorEnv:
    """This process's share of the environments, with the levels it would have in one alone."""
    levels = parse_levels(config.levels)
    for level in levels:
        check_playable(level.game, level.state, scenario=config.scenario)
    share, rest = divmod(config.num_envs, group.size)
    if rest or not share:
        raise UserError(f"--num-envs {config.num_envs} cannot be shared by {group.size} processes")
    rows = assign_levels(
        levels, num_envs=config.num_envs, rotate_every=config.rotate_every, seed=config.seed
    )
    if config.serial:
        rows = [levels] * config.num_envs
    return RetroVectorEnv(
        rows[group.rank * share : (group.rank + 1) * share],
        config=subset(config, EnvConfig),
        seed=config.seed,
        rotate_every=config.rotate_every,
        record_dir=None,
    )


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Train as the command line says."""
    config = parse(argv)
    config = resolve(config, levels=len(parse_levels(config.levels)))
    with joined(config.device) as device:
        config = replace(config, device=device)
        envs = make_envs(config, Group())
        with closing(envs), resumable(config.run_dir):
            if config.overlap:
                envs.lower_priority()
            run(envs, config, config.run_dir, init=config.init or None)


if __name__ == "__main__":
    main()
