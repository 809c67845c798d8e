# PYTHON_ARGCOMPLETE_OK
"""PPO2's only loop: pretraining on all levels at once and playing one level both run it.

python -m ppo2.train --preset joint --levels bramble-train --run-dir runs/joint
python -m ppo2.train --preset contest --levels GAME:STATE --init runs/joint --run-dir runs/new
torchrun --nproc-per-node 2 -m ppo2.train --preset joint --num-envs 8 --run-dir runs/joint
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ppo2.config import PPO2Config
from retro_agents.contract.envs import VectorEnv
from retro_agents.contract.policy import Agent, OnCheckpoint
from retro_agents.games.families import level_names, make_for, train
from retro_agents.ground.errors import UserError, command
from retro_agents.judging.periodic import judged
from retro_agents.run.command_line import load_run_config
from retro_agents.run.config import replaced
from retro_agents.run.run import Run

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, PPO2Config, presets=PRESETS, command="python -m ppo2.train")


def run(
    envs: VectorEnv,
    config: PPO2Config,
    run_dir: Path | str,
    init: Path | str | None = None,
    *,
    training_type: type | None = None,
    on_checkpoint: OnCheckpoint | None = None,
) -> Agent:
    """Train on `envs` for config.run.timesteps agent steps and return the agent.

    init: a checkpoint that gives the weights. In a group of processes, each calls this with
    environments of its own. training_type: a subclass of `Training`, of an agent that extends this
    one. The others: see `Run`.
    """
    from ppo2.training import Training  # brings PyTorch, for which --help does not wait

    training = (training_type or Training)(config, envs.num_envs)
    collector = training.collector
    with Run(training, envs, run_dir, init, judge=judged, on_checkpoint=on_checkpoint) as run:
        obs = run.obs
        while run.goes_on():
            obs = collector.play(envs, obs, on_step=run.show)
            episodes = collector.ended_episodes()
            values = training.learn(obs) if collector.rollout.full else {}
            run.after(episodes, values)
    return training.agent


def resolve(config: PPO2Config) -> PPO2Config:
    """The config with --num-envs 0 replaced by the number of levels, without rotation."""
    if config.run.num_envs:
        return config
    return replaced(config, num_envs=len(level_names(config.run.levels)), rotate_every=0)


def make_envs(config: PPO2Config) -> VectorEnv:
    """This process's share of the environments, with the levels it would have in one alone."""
    from retro_agents.run.distributed import Group  # brings PyTorch

    part = Group().share(config.run.num_envs)
    share = part.stop - part.start
    if config.sequence_steps == config.rollout_steps > 1 and share % config.minibatches:
        raise UserError(
            f"each process has {share} environments, expected a multiple of the "
            f"{config.minibatches} minibatches: change --num-envs or --minibatches"
        )
    return make_for(config, part=part)


@command
def main(argv: Sequence[str] | None = None, *, parse: Any = parse, run: Any = run) -> None:
    """Train as the command line says. parse, run: of an agent that extends this one."""
    config = resolve(parse(argv))
    from retro_agents.run.distributed import joined  # brings PyTorch

    with joined(config.run.device) as device:
        config = replaced(config, device=device)
        train(run, config, make_envs(config))


if __name__ == "__main__":
    main()
