# PYTHON_ARGCOMPLETE_OK
"""Rainbow's only loop: pretraining on rotating levels and playing one level both run it.

python -m rainbow.train --levels bramble-train --rotate-every 5000 --run-dir runs/pretrained
python -m rainbow.train --levels GAME:STATE --num-envs 1 --init runs/pretrained --run-dir runs/new
python -m rainbow.train --preset ape-x --levels procgen:coinrun --actors 2 --run-dir runs/actors
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rainbow.config import RainbowConfig
from retro_agents.contract.envs import VectorEnv
from retro_agents.contract.policy import Agent, OnCheckpoint
from retro_agents.games.families import make_for, train
from retro_agents.ground.errors import command
from retro_agents.judging.periodic import judged
from retro_agents.run.command_line import load_run_config
from retro_agents.run.run import Run

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, RainbowConfig, presets=PRESETS, command="python -m rainbow.train")


def run(
    envs: VectorEnv | None,
    config: RainbowConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
    *,
    training_type: type | None = None,
    on_checkpoint: OnCheckpoint | None = None,
) -> Agent:
    """Train on `envs` for config.run.timesteps agent steps and return the agent.

    envs: None where config.acting asks for actors, which make their own. init: a checkpoint that
    gives weights, and config.init_replay of its transitions. training_type: a subclass of
    `Training`, of an agent that extends this one. The others: see `Run`.
    """
    from rainbow.actors import playing  # these bring PyTorch, for which --help does not wait
    from rainbow.training import Training

    num_envs = config.run.num_envs if envs is None else envs.num_envs
    training = (training_type or Training)(config, num_envs)
    run = Run(training, envs, run_dir, init, judge=judged, on_checkpoint=on_checkpoint)
    with playing(training, envs, run.obs) as player, run:
        while run.goes_on():
            player.begin()
            while training.updates < training.updates_due():  # while the emulators run
                training.update()
            step = player.wait()
            episodes = training.add(step)
            if run.due(config.target_every):
                training.learner.copy_target()
            row = training.summary() | player.summary() if run.due(config.log_every) else {}
            run.after(episodes, row)
    return training.agent


@command
def main(argv: Sequence[str] | None = None, *, parse: Any = parse, run: Any = run) -> None:
    """Train as the command line says. parse, run: of an agent that extends this one."""
    config = parse(argv)
    train(run, config, None if config.acting.actors else make_for(config))


if __name__ == "__main__":
    main()
