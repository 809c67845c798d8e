"""Pretrain Rainbow, play a held-out act under contest rules, compare. Started by scripts/demo."""

import contextlib
import dataclasses
import functools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console

from contest.evaluate import film_best, play_episodes
from contest.match import score as contest_score
from contest.match.agents import Agent, load_policy
from contest.match.references import reference
from contest.match.score import Episode, Score, read_episodes, score, score_table
from envs import make_for
from experiment.config import load_config, replaced, to_dict
from experiment.errors import UserError, command
from experiment.plot import plot_curves
from experiment.progress import Progress
from experiment.ranges import Count, Natural
from experiment.results import store
from experiment.run_folder import numbered_folder
from rainbow.config import RainbowConfig
from rainbow.train import PRESETS, run
from retro_env import EnvConfig, Level, make_vec, parse_levels
from retro_env.integrations import check_playable

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class DemoConfig:
    """Pretrain Rainbow briefly, play an act it has never seen, and compare it with chance."""

    quick: bool = False
    """Tiny budgets where none are given: shows that everything runs, not that anything is
    learnt."""
    runs: Path = Path("runs")
    """Folder in which a new folder demo-001, demo-002, … is made."""
    rainbow_preset: str = "laptop"
    """Preset of Rainbow."""
    train_levels: str = "bramble-train"
    """Levels to pretrain on."""
    level: str = ""
    """Held-out level to play, GAME:STATE; default: the first of bramble-test."""
    pretrain_steps: Count = 60_000
    """Agent steps of pretraining."""
    rotate_every: Count = 1_000
    """Agent steps an emulator plays a level in pretraining before it goes on with another."""
    play_steps: Count = 12_000
    """Agent steps each player gets on the held-out level."""
    num_envs: Count = 8
    """Emulators that run side by side in pretraining."""
    seed: Natural = 0
    """Seeds everything."""


QUICK: dict[str, Any] = {
    "pretrain_steps": 2_000,
    "rotate_every": 250,
    "play_steps": 1_000,
    "num_envs": 2,
}
QUICK_RAINBOW: dict[str, Any] = {"learning_starts": 500, "target_every": 500, "log_every": 100}


@dataclasses.dataclass(frozen=True)
class Demo:
    """One demo under way: its settings, its folder, and what it prints to."""

    config: DemoConfig
    rainbow: RainbowConfig
    level: Level
    folder: Path
    console: Console
    seconds: dict[str, float]

    def step(self, text: str, key: str, work: Callable[[], T]) -> T:
        """Say what comes, do it, and keep how long it took."""
        self.console.print(f"[bold]{text}[/bold]", highlight=False)
        began = time.monotonic()
        result = work()
        self.seconds[key] = round(time.monotonic() - began, 1)
        return result

    def train(self, name: str, levels: list[Level], init: Path | None = None) -> list[Episode]:
        """A run of Rainbow in the folder `name` -> its episodes, the unfinished ones too."""
        pretraining = name == "pretraining"
        config = replaced(
            self.rainbow,
            levels=",".join(map(str, levels)),
            timesteps=self.config.pretrain_steps if pretraining else self.config.play_steps,
            num_envs=self.config.num_envs if pretraining else 1,
            rotate_every=self.config.rotate_every if pretraining else 0,
            run_dir=str(self.folder / name),
            init=str(init or ""),
        )
        with contextlib.closing(make_for(config)) as envs:
            run(envs, config, config.run.run_dir, init=init)
            return read_episodes(config.run.run_dir) + contest_score.unfinished_episodes(envs)

    def refer(self, name: str) -> list[Episode]:
        """A policy that learns nothing, on the held-out level -> its episodes."""
        steps, seed = self.config.play_steps, self.config.seed
        settings = EnvConfig(backtracking=False)
        envs = make_vec([self.level], num_envs=1, config=settings, seed=seed)
        with contextlib.closing(envs), Progress(steps, name) as progress:

            def show(step: int, episodes: list[Episode]) -> None:
                progress.update(step, {"episodes": len(episodes)})

            policy = reference(name, seed=seed)
            return contest_score.play(policy, envs, steps, seed=seed, on_step=show)

    def film(self, run_dir: Path) -> Path:
        """The best of three noise-free episodes of a trained agent -> its .mp4."""
        agent, settings = load_policy(Agent("", str(run_dir), "frozen", "cpu"), seed=0)
        limit = 300 if self.config.quick else 1_500  # of 4 frames: 20 or 100 seconds
        settings = dataclasses.replace(settings, episode_steps=limit)
        recordings = self.folder / "recordings"
        seed, level = self.config.seed, self.level
        played = play_episodes(agent, level, settings, episodes=3, seed=seed, record_dir=recordings)
        returns = ", ".join(f"{episode.r:,.0f}" for episode in played)
        self.console.print(f"noise-free returns: {returns}", highlight=False)
        return film_best(played, recordings, self.folder / "pretrained")


def prepare(argv: list[str], console: Console) -> Demo:
    """Everything that can go wrong by the user's hand, before anything long begins."""
    read = functools.partial(load_config, DemoConfig, argv, presets=None, command="scripts/demo")
    config = read()
    if config.quick:
        config = read(defaults=QUICK)
    arguments = ["--preset", config.rainbow_preset, "--seed", str(config.seed)]
    rainbow = load_config(RainbowConfig, arguments, presets=PRESETS, command="rainbow")
    rainbow = replaced(rainbow, **(QUICK_RAINBOW if config.quick else {}))
    levels = parse_levels(config.level or "bramble-test")
    if config.level and len(levels) != 1:
        raise UserError(f"--level takes one level as GAME:STATE, got {config.level!r}")
    for level in [*parse_levels(config.train_levels), levels[0]]:
        check_playable(level.game, level.state, scenario="contest")
    folder = numbered_folder(config.runs, "demo")
    return Demo(config, rainbow, levels[0], folder, console, {})


def draw(demo: Demo, scores: dict[str, Score]) -> list[Path]:
    """The curves of pretraining and of playing, as far as episodes have ended -> their files."""
    ended = {name: demo.folder / name for name in ("pretrained", "scratch", "pretraining")}
    runs = {name: [path] for name, path in ended.items() if read_episodes(path)}
    pretraining = {name: runs.pop(name) for name in ("pretraining",) if name in runs}
    made = []
    if runs:
        title = f"Return on {demo.level.state}, never seen before"
        levels = {name: scores[name].mean for name in ("random", "hold-right")}
        made = [plot_curves(runs, demo.folder / "curve.png", window=10, title=title, levels=levels)]
    if pretraining:
        title = "Return while pretraining on the training levels"
        made.append(
            plot_curves(pretraining, demo.folder / "pretraining.png", window=30, title=title)
        )
    return made


def verdict(scores: dict[str, Score]) -> str:
    """Whether the pretrained agent is better than chance, by the intervals."""
    agent, chance = scores["pretrained"], scores["random"]
    if agent.low > chance.high:
        return "The pretrained agent's interval lies above random play's."
    return (
        "The pretrained agent's interval does not lie above random play's: "
        "these steps were too few to tell."
    )


def report(demo: Demo, scores: dict[str, Score], files: list[Path]) -> None:
    """Print the table and where everything is; write result.json."""
    result = {
        "level": str(demo.level),
        "config": to_dict(demo.config),
        "scores": [dataclasses.asdict(row) for row in scores.values()],
        "verdict": verdict(scores),
        "seconds": demo.seconds,
    }
    path = demo.folder / "result.json"
    store(path, result)
    title = f"{demo.level}, {demo.config.play_steps:,} agent steps each"
    demo.console.print()
    demo.console.print(score_table(list(scores.values()), title=title))
    demo.console.print(verdict(scores))
    for file in [*files, path]:
        print(f"{file.name:<16} {file}")  # not by the console, which would break long lines


@command
def main() -> None:
    """Run the demo as the command line says."""
    console = Console()
    demo = prepare(sys.argv[1:], console)
    console.print(f"This run's folder: {demo.folder}")
    levels = parse_levels(demo.config.train_levels)
    steps = f"{demo.config.play_steps:,} steps on {demo.level.state}"
    text = f"1/6 Pretraining: {demo.config.pretrain_steps:,} steps on {len(levels)} levels"
    demo.step(text, "pretraining", lambda: demo.train("pretraining", levels))
    init = demo.folder / "pretraining"
    players: dict[str, tuple[str, Callable[[], list[Episode]]]] = {
        "random": ("random", lambda: demo.refer("random")),
        "hold-right": ("hold-right", lambda: demo.refer("hold-right")),
        "scratch": ("Rainbow from scratch", lambda: demo.train("scratch", [demo.level])),
        "pretrained": ("Rainbow pretrained", lambda: demo.train("pretrained", [demo.level], init)),
    }
    scores = {
        name: score(name, demo.step(f"{number}/6 {title}: {steps}", name, work))
        for number, (name, (title, work)) in enumerate(players.items(), start=2)
    }
    files = draw(demo, scores)
    text = "6/6 Filming the pretrained agent without noise"
    film = demo.step(text, "film", lambda: demo.film(demo.folder / "pretrained"))
    report(demo, scores, [*files, film])


if __name__ == "__main__":
    main()
