# PYTHON_ARGCOMPLETE_OK
"""IMPALA's only loop, whether its actors are this process or many others.

python -m impala.train --preset fast --levels bramble-train --run-dir runs/impala
python -m impala.train --preset fast --levels bramble-train --actors 2 --run-dir runs/actors
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from impala.config import ImpalaConfig
from retro_agents.contract.envs import VectorEnv
from retro_agents.contract.policy import Agent, OnCheckpoint
from retro_agents.games.families import make_for, train
from retro_agents.ground.errors import command
from retro_agents.judging.periodic import judged
from retro_agents.run.command_line import load_run_config
from retro_agents.run.run import Run

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, ImpalaConfig, presets=PRESETS, command="python -m impala.train")


def run(
    envs: VectorEnv | None,
    config: ImpalaConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
    *,
    training_type: type | None = None,
    on_checkpoint: OnCheckpoint | None = None,
) -> Agent:
    """Train on `envs` for config.run.timesteps agent steps and return the agent.

    envs: None where config.acting asks for actors, which make their own. init: a checkpoint that
    gives the weights. training_type: a subclass of `Training`, of an agent that extends this one.
    The others: see `Run`.
    """
    from impala.actors import playing  # these bring PyTorch, for which --help does not wait
    from impala.training import Training

    training = (training_type or Training)(config)
    run = Run(training, envs, run_dir, init, judge=judged, on_checkpoint=on_checkpoint)
    with playing(training, envs, run.obs) as actors, run:
        while run.goes_on():
            actor, _, block, _ = actors.next()
            episodes = training.count(block)
            values = training.learn(block)
            try:
                actors.order(actor, training.updates)
            finally:  # what was learned is written, whatever became of the actors
                run.after(episodes, values, actor_restarts=actors.restarts)
    return training.agent


@command
def main(argv: Sequence[str] | None = None, *, parse: Any = parse, run: Any = run) -> None:
    """Train as the command line says. parse, run: of an agent that extends this one."""
    config = parse(argv)
    train(run, config, None if config.acting.actors else make_for(config))


if __name__ == "__main__":
    main()
