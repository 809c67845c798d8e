# PYTHON_ARGCOMPLETE_OK
"""How good is a trained agent when it neither explores nor learns, and what does it look like?

python -m contest.evaluate runs/rainbow --levels bramble-test --episodes 5 --video
"""

import contextlib
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from rich.console import Console

from contest.match.agents import Agent, load_policy
from contest.match.folder import read_facts
from contest.match.job import keep_best
from contest.match.references import REFERENCES
from contest.match.score import Episode, Score, as_episode, score, score_table
from contest.match.scores import shown_names
from experiment.config import parse_command, positional
from experiment.errors import UserError, command
from experiment.files import make_folder
from experiment.package import Policy
from experiment.progress import Progress
from experiment.ranges import Count, Seed
from experiment.results import store
from experiment.run_folder import numbered_folder
from retro_env import EnvConfig, Level, make_env, parse_levels
from retro_env.integrations import check_playable
from retro_env.make import backend_of
from retro_env.video import convert


@dataclasses.dataclass(frozen=True)
class EvaluateConfig:
    """Play whole episodes under contest rules, without noise, and score them."""

    agent: str = positional("AGENT")
    """A checkpoint, run or contest's folder, a shipped agent's name (rainbow), or random,
    hold-right, run-and-jump."""
    levels: str = "bramble-test"
    """A split, a CSV with columns game,state, or GAME:STATE[,GAME:STATE...]."""
    episodes: Count = 3
    """Episodes per level, each with its own sticky actions."""
    seed: Seed = 0
    """Seed of the first episode's sticky actions; each further episode takes the next."""
    video: bool = False
    """Keep the best episode of each level as .mp4 (and .bk2)."""
    out: Path | None = None
    """Folder for result.json and the videos; none: the next of runs/evaluation-001, -002, …"""
    backend: Literal["native", "emulator"] = "native"
    """What plays BrambleDash's levels; others always play in the emulator."""
    device: str = "cpu"
    """Where the net computes: cpu, cuda, cuda:1, auto."""


def make_out(out: Path | None) -> Path:
    """The folder to write to, made. UserError: it holds an evaluation, or cannot be written."""
    if out is None:
        return numbered_folder("runs", "evaluation")
    if (out / "result.json").exists():
        raise UserError(f"{out} already holds an evaluation; give another --out")
    make_folder(out)
    return out


def agent_in(contest: Path) -> str:
    """What played in a contest's folder: the agent as it was in the end, where it learned.

    UserError: there are several, or none was saved.
    """
    facts = read_facts(contest)
    learned = [str(path) for path in sorted(contest.glob("*/seed-*/agent"))]
    found = learned or [part for part in facts["checkpoint"].split(",") if part]
    if not found and facts["name"] in REFERENCES:
        return str(facts["name"])
    if len(found) != 1:
        which = f"give one, such as {found[0]}" if found else f"{facts['name']} saved none"
        raise UserError(f"{contest} holds {len(found)} agents: {which}")
    return found[0]


def play_episodes(
    policy: Policy,
    level: Level,
    settings: EnvConfig,
    *,
    episodes: int,
    seed: int = 0,
    record_dir: Path | None = None,
) -> list[Episode]:
    """Whole episodes of one level, one after the other; record_dir gets one .bk2 for each."""
    played = []
    with contextlib.closing(make_env(level, settings, record_dir=record_dir)) as env:
        for number in range(episodes):
            obs, _ = env.reset(seed=seed + number)
            starts, over = np.ones(1, bool), False
            while not over:
                action = int(policy.act(obs[np.newaxis], starts=starts)[0])
                obs, _, terminated, truncated, info = env.step(action)
                starts, over = np.zeros(1, bool), terminated or truncated
            played.append(as_episode(info["episode_record"]))
    return played


def film_best(episodes: Sequence[Episode], recordings: Path, target: Path) -> Path:
    """The .bk2 of the episode with the highest return, as target.bk2 and target.mp4."""
    kept = target.with_name(f"{target.name}.bk2")
    keep_best(recordings, [episode.r for episode in episodes], kept)
    return convert(kept)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Evaluate what the command line names."""
    config = parse_command(EvaluateConfig, argv, command="python -m contest.evaluate")
    levels = parse_levels(config.levels)
    for level in levels:
        check_playable(level.game, level.state, scenario="contest")
    name, folder = config.agent, Path(config.agent)
    name = agent_in(folder) if (folder / "contest.json").is_file() else name
    agent = Agent(name, name, "frozen", config.device)
    policy, settings = load_policy(agent, seed=config.seed)
    settings = dataclasses.replace(settings, backend=config.backend)
    played_by = {backend_of([level], settings) for level in levels}
    out = make_out(config.out)  # before anything is played
    names = shown_names(map(str, levels))
    rows: list[Score] = []
    every: list[Episode] = []
    with Progress(config.episodes * len(levels), "evaluate", unit="episodes") as progress:
        for level in levels:
            name = names[str(level)].replace(":", "-")
            recordings = out / f".{name}" if config.video else None
            played = play_episodes(
                policy,
                level,
                settings,
                episodes=config.episodes,
                seed=config.seed,
                record_dir=recordings,
            )
            rows.append(score(name, played))
            every += played
            progress.update(len(every), {"return": rows[-1].mean})
            if recordings is not None:
                print(film_best(played, recordings, out / name))
    rows.append(score("all levels", every))
    Console().print(score_table(rows, title=f"{config.agent}, without noise or learning"))
    result = {
        "agent": config.agent,
        "seed": config.seed,
        "backend": "+".join(sorted(played_by)),
        "scores": [*map(dataclasses.asdict, rows)],
    }
    store(out / "result.json", result)
    print(out / "result.json")


if __name__ == "__main__":
    main()
