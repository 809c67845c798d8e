# PYTHON_ARGCOMPLETE_OK
"""TRPO's only loop.

python -m trpo.train --preset fast --levels bramble-train --run-dir runs/trpo
python -m trpo.train --preset procgen-course --levels procgen:starpilot --run-dir runs/course
torchrun --nproc-per-node 2 -m trpo.train --preset fast --run-dir runs/two
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from retro_agents.contract.envs import VectorEnv
from retro_agents.contract.policy import Agent, OnCheckpoint
from retro_agents.games.families import make_for, train
from retro_agents.ground.errors import command
from retro_agents.judging.periodic import judged
from retro_agents.run.command_line import load_run_config
from retro_agents.run.config import replaced
from retro_agents.run.run import Run
from trpo.config import TRPOConfig

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, TRPOConfig, presets=PRESETS, command="python -m trpo.train")


def run(
    envs: VectorEnv,
    config: TRPOConfig,
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
    from trpo.training import Training  # brings PyTorch, for which --help does not wait

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


@command
def main(argv: Sequence[str] | None = None, *, parse: Any = parse, run: Any = run) -> None:
    """Train as the command line says. parse, run: of an agent that extends this one."""
    config = parse(argv)
    from retro_agents.run.distributed import Group, joined  # brings PyTorch

    with joined(config.run.device) as device:
        config = replaced(config, device=device)
        train(run, config, make_for(config, part=Group().share(config.run.num_envs)))


if __name__ == "__main__":
    main()
