"""Play an act that no agent was trained on, learn it, and compare. Started by scripts/demo."""

import contextlib
import dataclasses
import functools
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from jerk import recordings as jerk_recordings
from retro_agents.contest.match.agent import Agent, make_config
from retro_agents.contract.policy import Actions, Flags, Images, Play, Policy
from retro_agents.games.families import make_for
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.integrations import check_playable
from retro_agents.games.retro.levels import Level, parse_levels
from retro_agents.games.retro.make import make_env
from retro_agents.games.retro.references import REFERENCES
from retro_agents.ground.errors import UserError, command, need
from retro_agents.ground.ranges import Count, Seed
from retro_agents.ground.results import store
from retro_agents.ground.statistics import welch_interval
from retro_agents.judging.evaluate import PATIENCE, play_level
from retro_agents.judging.film import Moment, film, moments_of, play_episode
from retro_agents.judging.policies import load_policy
from retro_agents.judging.score import (
    Episode,
    read_episodes,
    score,
    score_table,
    unfinished_episodes,
)
from retro_agents.run.agents import find
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.command_line import load_config
from retro_agents.run.config import replaced, to_dict
from retro_agents.run.fields import field
from retro_agents.run.folder import numbered_folder
from retro_agents.run.plot import plot_curves

SECOND = 15
"""Agent steps in a second of play."""
SHIPPED = "as shipped"
SEARCH, AFTER = "JERK, searching", "JERK, after that"


@dataclasses.dataclass(frozen=True)
class DemoConfig:
    """Play an unseen act without learning, then let JERK learn it: scores, a curve, films."""

    quick: bool = False
    """Use smaller values for all settings that are not given."""
    runs: Path = Path("runs")
    """Folder in which a new folder demo-001, demo-002, … is made."""
    level: str = "RustCavern.Act2"
    """Held-out level to play, GAME:STATE or the STATE of a split's level."""
    agent: str = "ppo2"
    """Agent that plays without learning: a checkpoint, or a shipped agent's name."""
    search_steps: Count = 200_000
    """Agent steps of JERK's search."""
    episodes: Count = 20
    """Episodes of each player that does not learn."""
    film: bool = field(True, needs=("imageio", "imageio_ffmpeg"))
    """Make films: before anything learns, and at the end."""
    seed: Seed = 0
    """Seed of all random numbers."""


class Noted:
    """A policy that records the actions of each of its episodes. The game is seeded, so the same
    actions play the same episode again."""

    config = None

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.episodes: list[list[int]] = []

    def act(self, obs: Images, *, play: Play | None = None, starts: Flags | None = None) -> Actions:
        """Act like the policy, for a single row; starts: required."""
        assert starts is not None
        if starts[0]:
            self.episodes.append([])
        actions = self.policy.act(obs, play=play, starts=starts)
        self.episodes[-1].append(int(actions[0]))
        return actions


class Again:
    """Replays given actions, and returns a policy's values for them."""

    config = None

    def __init__(self, policy: Any, actions: Sequence[int]) -> None:
        self.left = iter(actions)
        if hasattr(policy, "scores"):
            self.scores, self.device, self.config = policy.scores, policy.device, policy.config

    def act(self, obs: Images, **_: Any) -> Actions:
        """The next action, for a single row."""
        return np.array([next(self.left)])


QUICK: dict[str, Any] = {"search_steps": 50_000, "episodes": 10}


@dataclasses.dataclass(frozen=True)
class Demo:
    """A running demo: what each player has played, and the moments of its best episode."""

    config: DemoConfig
    level: Level
    folder: Path
    played: dict[str, list[Episode]] = dataclasses.field(default_factory=dict)
    seen: dict[str, list[Moment]] = dataclasses.field(default_factory=dict)

    def play(self, label: str, policy: Policy, settings: EnvConfig) -> None:
        """Score a player that does not learn, and keep the moments of its best episode."""
        seed, patience, noted = self.config.seed, PATIENCE * SECOND, Noted(policy)
        self.played[label], _ = play_level(
            noted,
            self.level,
            settings,
            episodes=self.config.episodes,
            seed=seed,
            patience=patience,
        )
        if not self.config.film:
            return
        best = int(np.argmax([episode.r for episode in self.played[label]]))
        with contextlib.closing(make_env(self.level, settings.with_raw_rewards())) as env:
            again = Again(policy, noted.episodes[best])
            seen = self.seen[label] = []
            play_episode(again, env, seed=seed + best, patience=patience, on_moment=seen.append)

    def train(self, label: str, agent: Agent, steps: int) -> Path:
        """Let JERK learn the level -> its run folder."""
        folder, seed = self.folder / agent.name, self.config.seed
        config = make_config(agent, timesteps=steps, seed=seed, run_dir=folder)
        film = self.config.film
        config = replaced(config, levels=str(self.level), run_dir=str(folder), record=film)
        recordings = folder / jerk_recordings.FOLDER if film else None
        with contextlib.closing(make_for(config, record_dir=recordings)) as envs:
            find(agent.name).run(envs, config, folder, init=agent.checkpoint or None)
            self.played[label] = read_episodes(folder) + unfinished_episodes(envs)
        if recordings is not None:
            best = load_checkpoint(folder).state["recordings"]["best"]
            if str(self.level) in best:
                self.seen[label] = moments_of(recordings / best[str(self.level)][1])
        return folder


def prepare(argv: list[str]) -> tuple[Demo, tuple[Policy, EnvConfig]]:
    """Check everything that the user may have got wrong, before anything long begins -> the demo,
    and the shipped agent with its settings."""
    read = functools.partial(load_config, DemoConfig, argv, presets=None, command="scripts/demo")
    config = read()
    if config.quick:
        config = read(defaults=QUICK)
    levels = parse_levels(config.level)
    if len(levels) != 1:
        raise UserError(f"--level takes one level as GAME:STATE, got {config.level!r}")
    check_playable(levels[0].game, levels[0].state, scenario="contest")
    need("matplotlib")  # the curve is drawn at the end
    shipped = load_policy(config.agent, seed=config.seed)
    return Demo(config, levels[0], numbered_folder(config.runs, "demo")), shipped


def verdict(demo: Demo) -> str:
    """Compare the search, learning included, with the best player that does not learn."""
    means = {label: score(label, played).mean for label, played in demo.played.items()}
    best = max(REFERENCES, key=means.__getitem__)
    low, high = welch_interval(*([e.r for e in demo.played[name]] for name in (SEARCH, best)))
    proven = "" if low > 0.0 or high < 0.0 else "; too few to tell"
    shipped = next(name for name in means if name.endswith(SHIPPED))
    return (
        f"The {len(demo.played[SEARCH])} episodes of the search, from the first one on, average "
        f"{means[SEARCH] - means[best]:+z,.0f} points relative to {best}, the best simple player "
        f"(95 % {low:z,.0f} – {high:z,.0f}, over the episodes of this run{proven}). "
        f"{shipped}, which was trained on other acts, has {means[shipped]:,.0f}."
    )


def filmed(demo: Demo, name: str) -> Path:
    """Film each player's best episode so far, side by side."""
    spec = EnvConfig().spec()
    seen = {f"{name}: best of {len(demo.played[name])}": each for name, each in demo.seen.items()}
    return film(demo.folder / name, seen, spec.action_names, frame_skip=spec.frame_skip)


def report(demo: Demo, run: Path, seconds: float) -> None:
    """Write the film, the search's curve, the table and result.json, and print where they are."""
    scores = [score(label, played) for label, played in demo.played.items()]
    still = {row.label: row.mean for row in scores if row.label not in (SEARCH, AFTER)}
    runs = {SEARCH: [run]} if read_episodes(run) else {}
    title = f"Return on {demo.level.state}, not among the training acts"
    picture = demo.folder / "curve.png"
    result = {
        "level": str(demo.level),
        "config": to_dict(demo.config),
        "scores": [dataclasses.asdict(row) for row in scores],
        "verdict": verdict(demo),
        "seconds": round(seconds + time.monotonic(), 1),
    }
    files = [demo.folder / "result.json"]
    store(files[0], result)
    files.append(plot_curves(runs, picture, window=10, title=title, levels=still))
    files += [filmed(demo, "film.mp4")] if demo.config.film else []
    Console().print(score_table(scores, title=f"{demo.level}, not among the training acts"))
    print(verdict(demo))
    for file in files:
        print(f"{file.name:<12} {file}")


@command
def main() -> None:
    """Run the demo that the command line describes."""
    began = -time.monotonic()
    demo, shipped = prepare(sys.argv[1:])
    print(f"This run's folder: {demo.folder}")
    config, level = demo.config, demo.level.state
    print(f"1/3 {', '.join(REFERENCES)} and {config.agent} as it is shipped play {level}")
    for name in REFERENCES:
        demo.play(name, *load_policy(name, seed=config.seed))
    demo.play(f"{config.agent}, {SHIPPED}", *shipped)
    if config.film:
        print(f"    side by side: {filmed(demo, 'before.mp4')}")
    print(f"2/3 Learning: JERK searches {config.search_steps:,} steps")
    search = Agent("jerk", flags=("--preset", "recovering"), device="cpu")
    run = demo.train(SEARCH, search, config.search_steps)
    demo.play(AFTER, *load_policy(str(run), seed=config.seed))
    print("3/3 Writing the curve, the scores and any films")
    report(demo, run, began)


if __name__ == "__main__":
    main()
