"""The loop, and the command: python -m tally.train."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retro_agents.contract.envs import ended_episodes
from retro_agents.games.families import make_for, train
from retro_agents.ground.errors import command
from retro_agents.run.command_line import load_run_config
from retro_agents.run.run import Run
from tally.config import TallyConfig

if TYPE_CHECKING:
    from tally.agent import TallyAgent

PRESETS = Path(__file__).parent / "presets"
parse = partial(load_run_config, TallyConfig, presets=PRESETS, command="python -m tally.train")


def run(
    envs: Any,
    config: TallyConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
    *,
    on_checkpoint: Callable[..., object] | None = None,
) -> "TallyAgent":
    """Train on `envs`. `Run` resumes, counts, prints, writes checkpoints and handles Ctrl-C."""
    from tally.training import Training  # imports PyTorch, for which --help does not wait

    training = Training(config)
    with Run(training, envs, run_dir, init, on_checkpoint=on_checkpoint) as run:
        obs = run.obs
        while run.goes_on():
            actions = training.act(obs)
            obs, rewards, *_, infos = envs.step(actions)
            training.learn(actions, rewards)
            episodes = ended_episodes(infos)
            training.recent_returns.extend(episode["r"] for episode in episodes)
            rows = [(training.env_steps, episode["env"], episode) for episode in episodes]
            run.after(rows, {"best": float(training.agent.act(obs)[0])})
    return training.agent


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Train as the command line says."""
    config = parse(argv)
    train(run, config, make_for(config))


if __name__ == "__main__":
    main()
