# PYTHON_ARGCOMPLETE_OK
"""Choose how a trained agent plays by its returns on training levels, and save it so.

retro-agents choose-play runs/ppo2 --out runs/ppo2-chosen
retro-agents choose-play runs/rainbow --ways best,draw,epsilon:0.05 --episodes 4
"""

import dataclasses
import math
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from retro_agents.contract.envs import CONTEST_RETURNS, EnvSettings, row_seeds
from retro_agents.contract.episodes import SIDE_BY_SIDE, even_rows, play_episodes
from retro_agents.contract.policy import Play, Policy, parse_play
from retro_agents.games.families import check_levels, level_names, make
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.progress import Progress
from retro_agents.ground.ranges import Count, Seed
from retro_agents.ground.results import store
from retro_agents.ground.seeding import aside
from retro_agents.ground.statistics import ANYWHERE, Interval, t_interval
from retro_agents.judging.levels import learned_on
from retro_agents.judging.sight import PATIENCE
from retro_agents.judging.tables import number, span, terminal_table
from retro_agents.run.checkpoint import load_agent
from retro_agents.run.command_line import parse_command
from retro_agents.run.config import flat, replaced, to_dict
from retro_agents.run.fields import positional
from retro_agents.run.folder import claimed, numbered_folder


@dataclasses.dataclass(frozen=True)
class ChooseConfig:
    """Play an agent in several ways on training levels, and save a checkpoint that plays in the
    best way. One way takes half a minute for 94 episodes of the shipped PPO2 on one core."""

    agent: str = positional("AGENT")
    """A checkpoint, a run folder or a shipped agent's name (ppo2). It stays as it is."""
    ways: str = "draw,draw:0.5,best"
    """Ways to play, separated by commas: best, draw, draw:T with a temperature T, or epsilon:E with
    a share E of random actions. Of equal ones the first is chosen."""
    levels: str = ""
    """Levels to choose on, as for a trainer; default: those that the agent was trained on."""
    episodes: Count = 2
    """Episodes of each level in each way (Procgen: of each game, of which a hundred are few)."""
    seed: Seed = 0
    """Seed of all random numbers, the same for each way."""
    out: Path | None = None
    """Folder for the checkpoint and result.json; default: the next of runs/chosen-001, -002, …"""
    device: str = "cpu"
    """Device of the net: cpu, cuda, cuda:1, auto."""


def returns_of(
    policy: Policy, levels: str, settings: EnvSettings, *, episodes: int, seed: int, play: Play
) -> NDArray[np.float64]:
    """The returns of each level's episodes in one way to play, [levels, episodes]. An episode ends
    after 20 seconds without progress, where single rows can be reset."""
    names, found = level_names(levels), []
    for begin in range(0, len(names), SIDE_BY_SIDE):
        some = names[begin : begin + SIDE_BY_SIDE]
        rows = len(some) * even_rows(episodes, most=SIDE_BY_SIDE // len(some))
        with closing(make(",".join(some), settings, num_envs=rows, seed=seed)) as envs:
            played = play_episodes(
                partial(policy.act, play=play),
                envs,
                episodes=episodes * len(some),
                seed=row_seeds(seed, begin + 1)[-1],
                patience=PATIENCE,
            )
        by_row = np.reshape([episode["r"] for episode in played], (rows, -1))
        found += [by_row[number :: len(some)].ravel() for number in range(len(some))]
    return np.array(found)


def chosen(returns: dict[Play, NDArray[np.float64]]) -> Play:
    """The way with the highest mean return; the first of equal ones."""
    return max(returns, key=lambda way: returns[way].mean())


def leads(one: NDArray[np.float64], other: NDArray[np.float64], *, ways: int) -> bool:
    """Whether one of `ways` ways surely earns more than another: the interval of the difference, of
    each level or else of each episode, is above 0. Since the one was chosen by the same returns,
    the intervals of all pairs of ways hold at once with 95 % confidence."""
    apart = one - other
    differences = apart.mean(axis=1) if len(apart) > 1 else apart[0]
    low, _ = t_interval(differences, intervals=math.comb(ways, 2))
    return low > 0.0


def means(returns: NDArray[np.float64], *, within: Interval) -> dict[str, float]:
    """The mean return over levels, and its 95 % interval over levels, or over the episodes of a
    single level. within: possible returns."""
    each = returns.mean(axis=1) if len(returns) > 1 else returns[0]
    low, high = t_interval(each, within=within)
    return {"mean": float(returns.mean()), "low": low, "high": high}


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Choose as the command line says."""
    config = parse_command(ChooseConfig, argv, command="retro-agents choose-play")
    ways: list[Play] = list(dict.fromkeys(config.ways.split(",")))
    for way in ways:
        parse_play(way)
    from retro_agents.ground.device import prepare_device  # torch takes seconds to import

    agent: Any = load_agent(config.agent, device=str(prepare_device(config.device, threads=1)))
    if "play" not in flat(to_dict(agent.config)):
        raise UserError(
            f"{config.agent} has no setting play to choose: expected an agent whose own net acts"
        )
    if not (levels := config.levels or learned_on(config.agent)):
        raise UserError(f"{config.agent} does not say on which levels it learned: give --levels")
    settings = agent.config.env.with_raw_rewards()
    check_levels(levels, settings)
    out = config.out or numbered_folder("runs", "chosen")
    options = {"episodes": config.episodes, "seed": config.seed}
    with claimed(out, made=config.out is None):
        returns: dict[Play, NDArray[np.float64]] = {}
        with Progress(len(ways), "choose-play", unit="ways") as progress:
            for way in ways:
                progress.at(len(returns), doing=way)
                with aside(config.seed):  # otherwise a way's draws depend on those before it
                    returns[way] = returns_of(agent, levels, settings, play=way, **options)
                progress.update(len(returns), {f"return by {way}": returns[way].mean()})
        best = chosen(returns)
        before = agent.config.net.play
        agent.config = replaced(agent.config, play=best)
        within = ANYWHERE if settings.spec().family == "procgen" else CONTEST_RETURNS
        found = {way: means(each, within=within) for way, each in returns.items()}
        asked = {"agent": config.agent, "levels": levels, **options}
        rows = [
            [way, number(one["mean"]), span((one["low"], one["high"]))]
            for way, one in found.items()
        ]
        title = f"{config.agent}, {len(returns[best])} levels × {config.episodes} episodes"
        try:
            agent.save(out)
            store(out / "result.json", {**asked, "chosen": best, "ways": found})
        finally:  # a full disk must not cost what was played
            Console().print(terminal_table(["--play", "mean return", "95 %"], rows, title=title))
    print(f"{out} plays by {best}{', as before' if best == before else f', before by {before}'}.")
    for way in ways:
        if way != best and not leads(returns[best], returns[way], ways=len(ways)):
            print(f"That {best} earns more than {way} is not shown.")


if __name__ == "__main__":
    main()
