"""Play a level that no agent was trained on, learn it, and compare. Started by scripts/demo."""

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
from retro_agents.contract.policy import Actions, Flags, Images, Play, Policy, ScoringPolicy
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
from retro_agents.ground.temporary import temporary_folder
from retro_agents.judging.evaluate import PATIENCE, play_level
from retro_agents.judging.film import SMOOTH, Moment, end_of, film, moments_of, play_episode
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
SHIPPED = "frozen"
SEARCH, NET, AFTER = "JERK, searching", "PPO2, learning", "PPO2, after that"


@dataclasses.dataclass(frozen=True)
class DemoConfig:
    """Play an unseen level without learning, then let a search and a net learn it: scores, curves,
    films."""

    quick: bool = field(False, group="The demo")
    """Use smaller values for all settings that are not given."""
    runs: Path = Path("runs")
    """Folder in which a new folder demo-001, demo-002, … is made."""
    level: str = "RustCavern.Act2"
    """Held-out level to play, GAME:STATE or the STATE of a split's level."""
    agent: str = "ppo2"
    """Agent that plays without learning: a checkpoint, or a shipped agent's name."""
    search_steps: Count = 200_000
    """Agent steps of JERK's search, which uses no images."""
    net_steps: Count = 40_000
    """Agent steps of PPO2, which starts from random weights and learns from images."""
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
        if isinstance(policy, ScoringPolicy):
            for name in ("logits", "device", "recurrent", "net", "scores", "outputs"):
                setattr(self, name, getattr(policy, name))
        self.left = iter(actions)

    def act(self, obs: Images, **_: Any) -> Actions:
        """The next action, for a single row."""
        return np.array([next(self.left)])


QUICK: dict[str, Any] = {"search_steps": 50_000, "net_steps": 8_000, "episodes": 10}


@dataclasses.dataclass(frozen=True)
class Demo:
    """A running demo: what each player has played, and the moments of its best episode."""

    config: DemoConfig
    level: Level
    folder: Path
    played: dict[str, list[Episode]] = dataclasses.field(default_factory=dict)
    ended: dict[str, int] = dataclasses.field(default_factory=dict)
    """How many of a learner's episodes had ended when its last step was played."""
    seen: dict[str, list[Moment]] = dataclasses.field(default_factory=dict)
    runs: dict[str, Path] = dataclasses.field(default_factory=dict)
    """The run folder of each learner."""

    def play(self, label: str, policy: Policy, settings: EnvConfig) -> None:
        """Score a player that does not learn, and keep the moments of its best episode."""
        seed, patience, noted = self.config.seed, PATIENCE * SECOND, Noted(policy)
        self.played[label], _ = play_level(
            noted, self.level, settings, episodes=self.config.episodes, seed=seed, patience=patience
        )
        if not self.config.film:
            return
        best = int(np.argmax([episode.r for episode in self.played[label]]))
        steps: list[Moment] = []
        with temporary_folder() as (folder, _):
            env = make_env(self.level, settings.with_raw_rewards(), record_dir=folder)
            with contextlib.closing(env):
                again = Again(policy, noted.episodes[best])
                play_episode(
                    again, env, seed=seed + best, patience=patience, on_moment=steps.append
                )
            (recording,) = folder.glob("*.bk2")
            self.seen[label] = moments_of(recording, steps)

    def train(self, label: str, name: str, steps: int, *, preset: str, **settings: Any) -> None:
        """Let an agent learn the level."""
        folder, agent = self.folder / name, Agent(name, flags=("--preset", preset), device="cpu")
        config = make_config(agent, timesteps=steps, seed=self.config.seed, run_dir=folder)
        config = replaced(config, levels=str(self.level), run_dir=str(folder), **settings)
        recordings = folder / jerk_recordings.FOLDER if settings.get("record") else None
        with contextlib.closing(make_for(config, record_dir=recordings)) as envs:
            find(name).run(envs, config, folder)
            ended = read_episodes(folder)
            self.runs[label], self.ended[label] = folder, len(ended)
            self.played[label] = ended + unfinished_episodes(envs)
        if recordings is not None:
            best = load_checkpoint(folder).state["recordings"]["best"]
            if str(self.level) in best:
                self.seen[label] = moments_of(recordings / best[str(self.level)][1])


def prepare(argv: list[str]) -> tuple[Demo, tuple[Policy, EnvConfig]]:
    """Check everything that the user may have got wrong, before anything long begins -> the demo,
    and the agent that plays without learning, with its settings."""
    read = functools.partial(load_config, DemoConfig, argv, presets=None, command="scripts/demo")
    config = read()
    if config.quick:
        config = read(defaults=QUICK)
    levels = parse_levels(config.level)
    if len(levels) != 1:
        raise UserError(f"--level takes one level as GAME:STATE, got {config.level!r}")
    check_playable(levels[0].game, levels[0].state, scenario="contest")
    if levels[0] in parse_levels("bramble-train"):
        raise UserError(
            f"--level {config.level}: the shipped agents learned on it; "
            "give one of bramble-test, such as RustCavern.Act2"
        )
    need("matplotlib")  # the curve is drawn at the end
    shipped = load_policy(config.agent, seed=config.seed)
    return Demo(config, levels[0], numbered_folder(config.runs, "demo")), shipped


def verdict(demo: Demo) -> str:
    """Compare the search, learning included, with the best player that does not learn."""
    means = {label: score(label, played).mean for label, played in demo.played.items()}
    best = max(REFERENCES, key=means.__getitem__)
    low, high = welch_interval(*([e.r for e in demo.played[name]] for name in (SEARCH, best)))
    proven = "" if low > 0.0 or high < 0.0 else "; too few to tell"
    between = "no interval" if np.isnan(low) else f"95 % {low:z,.0f} – {high:z,.0f}"
    shipped = next(name for name in means if name.endswith(SHIPPED))
    kind = "whole" if demo.ended[NET] else "unfinished"
    learned = demo.played[NET][: demo.ended[NET]] or demo.played[NET]
    some = max(1, len(learned) // 4)
    return (
        f"The {len(demo.played[SEARCH])} episodes of the search, from the first one on, average "
        f"{means[SEARCH] - means[best]:+z,.0f} points relative to {best}, the best simple player "
        f"({between}, over the episodes of this run{proven}). "
        f"{shipped}, has {means[shipped]:,.0f}. "
        f"A net from random weights began with {mean_of(learned[:some])} and ended with "
        f"{mean_of(learned[-some:])}, the means of the first and the last {some} of its "
        f"{len(learned)} {kind} episodes."
    )


def mean_of(played: Sequence[Episode]) -> str:
    """The mean return of some episodes, as text."""
    return f"{np.mean([episode.r for episode in played]):,.0f}"


def filmed(demo: Demo, name: str, *learners: str) -> Path:
    """Film each player's best episode so far, side by side, until the last learner's ends."""
    best = {label: max(demo.played[label], key=lambda one: one.r) for label in demo.seen}
    labels = {label: f"{label}: best of {len(demo.played[label])}" for label in demo.seen}
    return film(
        demo.folder / name,
        {labels[label]: seen for label, seen in demo.seen.items()},
        EnvConfig().spec().action_names,
        frame_skip=SMOOTH,
        ends={labels[label]: end_of(episode) for label, episode in best.items()},
        until=[labels[label] for label in learners if label in demo.seen],
    )


def report(demo: Demo, seconds: float) -> None:
    """Write result.json, the curves and the film, and print the table and where they are."""
    scores = [score(label, played) for label, played in demo.played.items()]
    still = {row.label: row.mean for row in scores if row.label not in (*demo.runs, AFTER)}
    runs = {label: [run] for label, run in demo.runs.items() if read_episodes(run)}
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
    files.append(plot_curves(runs, picture, window=10, title=title, levels=still, log=True))
    files += [filmed(demo, "film.mp4", SEARCH, AFTER)] if demo.config.film else []
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
    print(f"1/3 {', '.join(REFERENCES)} and {config.agent}, {SHIPPED}, play {level}")
    for name in REFERENCES:
        demo.play(name, *load_policy(name, seed=config.seed))
    shipped_label = f"{config.agent}, {SHIPPED}"
    demo.play(shipped_label, *shipped)
    if config.film:
        print(f"    side by side: {filmed(demo, 'before.mp4', shipped_label)}")
    print(f"2/3 Learning: JERK, which uses no images, searches {config.search_steps:,} steps")
    demo.train(SEARCH, "jerk", config.search_steps, preset="recovering", record=config.film)
    steps = f"{config.net_steps:,} steps"
    print(f"    and a net that sees, PPO2, learns from random weights in {steps}")
    demo.train(NET, "ppo2", config.net_steps, preset="fast", num_envs=8)
    demo.play(AFTER, *load_policy(str(demo.runs[NET]), seed=config.seed))
    print("3/3 Writing the scores, the curves" + (" and the film" if config.film else ""))
    report(demo, began)


if __name__ == "__main__":
    main()
