"""Evaluate an agent on the Procgen levels that it was trained on, and on others.

retro-agents procgen evaluate runs/coinrun --levels train test --episodes 200 --video
"""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rich.console import Console
from rich.table import Table

from retro_agents.contract.episodes import SIDE_BY_SIDE, Random, even_rows
from retro_agents.contract.policy import FORMER_FLAGS, Play, Policy
from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.procgen.film import film, original_python
from retro_agents.games.procgen.games import (
    ACTIONS,
    normalised_scores,
    parse_games,
    possible_returns,
)
from retro_agents.games.procgen.levels import TestLevels, level_sets
from retro_agents.games.procgen.pictures import apart
from retro_agents.games.procgen.vector import make_vec
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import file_hash, folder_for
from retro_agents.ground.ranges import Count, Seed
from retro_agents.ground.results import read_result, write_result
from retro_agents.ground.seeding import aside
from retro_agents.ground.statistics import t_interval
from retro_agents.judging.periodic import evaluate
from retro_agents.judging.score import interval_text
from retro_agents.judging.sight import PLAYS, measure
from retro_agents.judging.tables import decimal, terminal_table
from retro_agents.run.agents import find
from retro_agents.run.checkpoint import Checkpoint, load_agent, load_checkpoint
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import field, positional
from retro_agents.run.folder import alone_in


@dataclasses.dataclass(frozen=True)
class EvaluateConfig:
    """Play whole episodes of a run's games, on levels that it was trained on and on others."""

    run: Path = positional("RUN")
    """A run folder, or one of its checkpoints."""
    levels: tuple[Literal["train", "test"], ...] = ("train", "test")
    """Sets of levels to play."""
    episodes: Count = 200
    """Episodes of each game on each set."""
    test_levels: TestLevels = "auto"
    """Test levels: unseen (other seeds than in training; the result also has the mean without the
    few levels that begin with the picture of a training level), or all (as in the published
    results); auto: unseen, or all if training is on all."""
    policy: Literal["trained", "untrained", "random"] = "trained"
    """Who plays: the run's agent, the same net with fresh weights, or uniformly random actions."""
    play: Play | None = field(None, answers=FORMER_FLAGS)
    """How actions are chosen: best, draw, draw:T with a temperature T, or epsilon:E with a share E
    of random ones; default: as the agent's checkpoint says."""
    seed: Seed = 0
    """Seed of the levels drawn and of the agent's actions."""
    sight: bool = False
    """Also play as many episodes with frames from other moments, and with independent draws of the
    agent's own action frequencies: an agent that uses what it sees earns more than both."""
    video: bool = field(False, needs=("imageio", "imageio_ffmpeg"))
    """Film an episode of each game on each set."""
    hd: bool = field(False, only_with="video")
    """Film in 512x512 with the original's package, which gets an environment of its own."""
    out: Path | None = None
    """Folder for result.json and the films; default: the run's evaluations/STEP-POLICY, plus all
    settings that are not the defaults: sets, test levels, episodes, seed."""
    device: str = "cpu"
    """Device of the net: cpu, cuda, cuda:1, auto."""

    def __post_init__(self) -> None:
        if not self.levels:
            raise UserError("--levels needs a value: train, test or both")
        if self.episodes > 1 and even_rows(self.episodes) == 1:
            raise UserError(
                f"--episodes {self.episodes} cannot be divided evenly among 2 to {SIDE_BY_SIDE} "
                "environments: give another number, such as 200"
            )
        if self.test_levels != "auto" and "test" not in self.levels:
            raise UserError("--test-levels has no effect without --levels test: leave it out")
        if self.sight and self.policy == "random":
            raise UserError("--policy random uses no frames: leave out --sight")
        if self.play and self.policy == "random":
            raise UserError("--policy random has no other way to play: leave out --play")
        if self.sight and self.episodes == 1:
            raise UserError("--sight shows the frames of other episodes: give --episodes 2 or more")


def player(config: EvaluateConfig, saved: Checkpoint) -> Policy:
    """The player that the command line asks for."""
    if config.policy == "random":
        return Random(len(ACTIONS), seed=config.seed)
    from retro_agents.ground.device import prepare_device  # slow to import

    device = str(prepare_device(config.device, threads=1))
    if config.policy == "trained":
        return load_agent(saved.folder, device=device)
    with aside(config.seed):
        return find(saved.agent).build(saved.config, device=device)


def score(episodes: Sequence[Mapping[str, Any]], game: str, mode: str) -> dict[str, Any]:
    """The part of a game's episodes that result.json keeps: their returns and statistics."""
    returns = [float(episode["r"]) for episode in episodes]
    mean = float(np.mean(returns))
    return {
        "mean": mean,
        "interval": list(t_interval(returns, within=possible_returns(game))),
        "std": float(np.std(returns)),
        "finished": sum(bool(episode["finished"]) for episode in episodes),
        "steps": sum(int(episode["l"]) for episode in episodes),
        "normalised": normalised_scores(mean, game, mode),
        "returns": returns,
    }


def compared(
    episodes: Sequence[Mapping[str, Any]], game: str, test: ProcgenConfig, train: ProcgenConfig
) -> dict[str, Any]:
    """The score of a game's episodes on test levels. If they can be compared with the training
    levels, `apart` has the mean of those that begin with another picture than any of these."""
    row = score(episodes, game, test.distribution_mode)
    if test is train or (new := apart(game, episodes, test=test, train=train)) is None:
        return row
    own = score(new, game, test.distribution_mode) if new else {"mean": None, "interval": None}
    own_part = {"episodes": len(new), "mean": own["mean"], "interval": own["interval"]}
    return {**row, "apart": own_part}


def scores(
    policy: Policy,
    levels: str,
    settings: ProcgenConfig,
    config: EvaluateConfig,
    *,
    train: ProcgenConfig,
) -> dict[str, dict[str, Any]]:
    """The scores of each game's episodes with these settings. With config.sight also those of the
    other two plays of a test of sight, which begin on the same levels. train: those of training."""
    mode, seed, episodes = settings.distribution_mode, config.seed, config.episodes
    if not config.sight:
        played = evaluate(policy, levels, settings, episodes=episodes, seed=seed, play=config.play)
        games = zip(parse_games(levels), played.values(), strict=True)
        return {game: compared(found, game, settings, train) for game, found in games}
    rows = {}
    for game in parse_games(levels):
        count = even_rows(episodes)
        make = partial(make_vec, game, num_envs=count, config=settings, seed=seed)
        with aside(seed):
            sight = measure(policy, make, episodes=episodes, seed=seed, play=config.play)
        others = {name: score(sight.played[name], game, mode) for name in PLAYS[1:]}
        own = compared(sight.played[PLAYS[0]], game, settings, train)
        rows[game] = {**own, "sight": others}
    return rows


def folder_name(step: str, config: EvaluateConfig) -> str:
    """A result's folder among a run's evaluations: step, policy, and non-default settings."""
    default = EvaluateConfig
    sets = sorted(set(config.levels))
    words = [step, config.policy]
    words += sets if set(sets) != set(default.levels) else []
    words += [config.test_levels] if config.test_levels != default.test_levels else []
    words += [f"{config.episodes}-episodes"] if config.episodes != default.episodes else []
    words += [config.play.replace(":", "-")] if config.play else []
    words += [f"seed-{config.seed}"] if config.seed != default.seed else []
    words += ["sight"] if config.sight else []
    return "-".join(words)


def check_out(path: Path, about: Mapping[str, Any]) -> None:
    """Raises UserError if another evaluation's result, which would be overwritten, is there."""
    if path.exists():
        before = read_result(path)
        names = dict.fromkeys([*about, "sight", "play"])  # which are there only if they were given
        other = [name for name in names if before.get(name) != about.get(name)]
        if other:
            raise UserError(
                f"{path} is of an evaluation with other {', '.join(other)}: give another --out, "
                "or move it"
            )


def met_in_training(result: Mapping[str, Any]) -> list[str]:
    """A line for each game of which some test levels begin like a training level."""
    lines = []
    for game, row in result["sets"].get("test", {}).items():
        whole, new = len(row["returns"]), row.get("apart", {})
        if new.get("episodes", whole) < whole:
            mean = decimal(new["mean"], 2) if new["episodes"] else "unknown"
            like = f"{whole - new['episodes']} of {whole} test levels begin like a training level"
            lines.append(f"{game}: {like}; mean return of the others: {mean}")
    return lines


def shown(result: Mapping[str, Any]) -> Table:
    """The result as a table."""
    title = f"{result['run']}, {result['policy']}, {result['env_steps']:,} steps, "
    title += f"{result['episodes']} episodes of each game"
    others = PLAYS[1:] if result.get("sight") else ()
    head = ("game", "levels", "mean", "95 %", "normalised", *others)
    rows = [
        [
            *(game, levels, decimal(row["mean"], 2)),
            interval_text(row["interval"], digits=2),
            decimal(row["normalised"]["paper"], 3),
            *(decimal(row["sight"][name]["mean"], 2) for name in others),
        ]
        for levels, games in result["sets"].items()
        for game, row in games.items()
    ]
    return terminal_table(head, rows, title=title, left=2)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Evaluate the run that the command line names."""
    config = parse_command(EvaluateConfig, argv, command="retro-agents procgen evaluate")
    saved = load_checkpoint(config.run)
    known: Any = saved.config_as(find(saved.agent).Config)
    folder, settings, run = saved.folder, known.env, known.run
    if not isinstance(settings, ProcgenConfig):
        raise UserError(f"{config.run} learned on {run.levels}; `retro-agents evaluate` plays it")
    original = original_python() if config.hd else None
    sets = level_sets(settings, test_levels=config.test_levels)
    run_folder = folder.parent.parent if folder.parent.name == "checkpoints" else folder
    out = config.out or run_folder / "evaluations" / folder_name(folder.name, config)
    test = sets["test"]
    about = {
        "run": run_folder.name,
        "agent": saved.agent,
        "policy": config.policy,
        "env_steps": saved.counters["env_steps"],
        # meta.json names the SHA-256 of every other file.
        "checkpoint_sha256": file_hash(saved.folder / "meta.json"),
        "train_seed": run.seed,
        "mode": settings.distribution_mode,
        "num_levels": settings.num_levels,
        "test_levels": {
            "mode": test.distribution_mode,
            "start": test.start_level,
            "count": test.num_levels,
        },
        "levels": sorted(set(config.levels)),
        "episodes": config.episodes,
        "seed": config.seed,
        **({"sight": True} if config.sight else {}),
        **({"play": config.play} if config.play else {}),
    }
    busy = f"another evaluation writes to {out}: give another --out"
    with folder_for(out), alone_in(out, otherwise=busy):
        check_out(out / "result.json", about)
        policy = player(config, saved)
        found = {
            name: scores(policy, run.levels, sets[name], config, train=sets["train"])
            for name in config.levels
        }
        result = {**about, "sets": found}
        try:
            write_result(out / "result.json", result, module="retro_agents.judging.procgen")
        finally:  # a full disk must not cost what was played
            Console().print(shown(result))
            for line in met_in_training(result):
                print(line)
    print(out / "result.json")
    filmed = partial(film, policy, seed=config.seed, original=original, way=config.play)
    for name in config.levels if config.video else ():
        for game in parse_games(run.levels):
            path = out / f"{game}-{name}{'-hd' if config.hd else ''}.mp4"
            print(filmed(game, sets[name], path))


if __name__ == "__main__":
    main()
