"""The command: python -m steady.train."""

from functools import partial

from ppo2 import train
from retro_agents.run.command_line import load_run_config
from steady.config import SteadyConfig
from steady.training import Training

parse = partial(
    load_run_config, SteadyConfig, presets=train.PRESETS, command="python -m steady.train"
)
run = partial(train.run, training_type=Training)
main = partial(train.main, parse=parse, run=run)

if __name__ == "__main__":
    main()
