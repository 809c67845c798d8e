# PYTHON_ARGCOMPLETE_OK
"""SAC's only loop: many levels in turn and one level alone both run it.

python -m sac.train --preset laptop --levels bramble-train --run-dir runs/sac
python -m sac.train --preset procgen --levels procgen:coinrun --run-dir runs/coinrun
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from retro_agents.contract.envs import VectorEnv, ended_episodes
from retro_agents.contract.policy import Agent, OnCheckpoint
from retro_agents.games.families import make_for, train
from retro_agents.ground.errors import command
from retro_agents.judging.periodic import judged
from retro_agents.run.command_line import load_run_config
from retro_agents.run.run import Run
from sac.config import SACConfig

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, SACConfig, presets=PRESETS, command="python -m sac.train")


def run(
    envs: VectorEnv,
    config: SACConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
    *,
    training_type: type | None = None,
    on_checkpoint: OnCheckpoint | None = None,
) -> Agent:
    """Train on `envs` for config.run.timesteps agent steps and return the agent.

    init: a checkpoint that gives weights, and config.init_replay of its transitions. training_type:
    a subclass of `Training`, of an agent that extends this one. The others: see `Run`.
    """
    from sac.training import Training  # brings PyTorch, for which --help does not wait

    training = (training_type or Training)(config, envs.num_envs)
    agent, replay = training.agent, training.replay
    with Run(training, envs, run_dir, init, judge=judged, on_checkpoint=on_checkpoint) as run:
        obs = run.obs
        while run.goes_on():
            actions = agent.act(obs, play="draw")
            envs.step_async(actions)
            while training.updates < training.updates_due():  # while the games run
                training.learn(beta=config.priority_beta)
            next_obs, rewards, terminated, truncated, infos = envs.step_wait()
            final_obs = infos.get("final_obs", next_obs)
            replay.add(obs, actions, rewards, terminated, truncated, final_obs)
            obs = next_obs
            episodes = training.count(envs.num_envs, ended_episodes(infos))
            run.after(episodes, training.summary() if run.due(config.log_every) else {})
    return agent


@command
def main(argv: Sequence[str] | None = None, *, parse: Any = parse, run: Any = run) -> None:
    """Train as the command line says. parse, run: of an agent that extends this one."""
    config = parse(argv)
    train(run, config, make_for(config))


if __name__ == "__main__":
    main()
