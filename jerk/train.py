"""JERK's only loop: searching levels for experience and playing the contest both run it.

python -m jerk.train --preset mutating --levels GAME:STATE --timesteps 200000 --run-dir runs/jerk
"""

import json
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiment.checkpoint import load_checkpoint, save_checkpoint
from experiment.config import load_config, subset
from experiment.errors import UserError, command
from experiment.metrics import EpisodeLog, Metrics
from experiment.progress import Progress
from experiment.run_folder import RunFolder
from experiment.seeding import (
    generator_state,
    rng_state,
    seed_everything,
    set_generator_state,
    set_rng_state,
)
from jerk.agent import JerkAgent
from jerk.config import JerkConfig
from jerk.memory import Sequences
from jerk.play import Play, begin, finish
from retro_env import EnvConfig, RetroVectorEnv, ended_episodes, make_vec, parse_levels

PRESETS = Path(__file__).parent / "presets"
COUNTS = ("explore", "replay", "mutant", "accepted", "improved")
"""Episodes begun of each kind; mutants whose run was kept; runs that became the best."""


def run(
    envs: RetroVectorEnv,
    config: JerkConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
) -> JerkAgent:
    """Search on `envs` for config.timesteps agent steps and return the agent.

    run_dir: where config, metrics, episodes, sequences.json and checkpoints go; with config.resume
    an existing run goes on. init: a checkpoint that gives sequences.
    """
    training = Training(config, envs.num_envs)
    folder = RunFolder.open(run_dir) if config.resume else RunFolder.create(run_dir, config)
    if config.resume:
        obs = training.restore(folder.path, envs)
    else:
        if init:
            training.start_from(init)
        obs, _ = envs.reset(seed=config.seed)
        training.begin(obs, envs.levels)
    start = training.env_steps if config.resume else None
    with (
        Metrics(folder.path, resume_step=start) as metrics,
        EpisodeLog(folder.path, resume_step=start) as episodes,
        Progress(config.timesteps, "jerk", start=training.env_steps) as progress,
    ):
        while training.env_steps < config.timesteps:
            actions = training.act()
            obs, rewards, _, _, infos = envs.step(actions)
            training.add(actions, rewards)
            for episode in ended_episodes(infos):
                episodes.log(training.env_steps, episode["env"], episode)
                training.end(episode, obs[episode["env"]], envs.levels[episode["env"]])
            if training.passes(config.log_every):
                values = training.summary()
                metrics.log(training.env_steps, values)
                progress.update(training.env_steps, values)
            if training.passes(config.checkpoint_every):
                training.save(folder, envs)
        if not training.passes(config.checkpoint_every):
            training.save(folder, envs)
    return training.agent


@dataclass
class Training:
    """All that changes during a run: what a checkpoint holds."""

    config: JerkConfig
    num_envs: int
    env_steps: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    recent_returns: deque[float] = field(default_factory=lambda: deque(maxlen=100))
    plays: list[Play] = field(default_factory=list)

    def __post_init__(self) -> None:
        seed_everything(self.config.seed)
        self.rng = np.random.default_rng(self.config.seed)
        self.sequences = Sequences(self.config.sequences)
        self.agent = JerkAgent(self.config, self.sequences)
        self.moves = self.agent.moves

    def begin(self, obs: NDArray[np.uint8], levels: Sequence[str]) -> None:
        """The first episode of every environment."""
        self.plays = [self.new_play(*start) for start in zip(obs, levels, strict=True)]

    def new_play(self, first: NDArray[np.uint8], level: str) -> Play:
        """An episode on that level. first: its first observation [C,H,W]."""
        if level not in self.sequences.starts:
            self.sequences.starts[level] = first.copy()
        play = begin(level, self.sequences, self.rng, config=self.config, env_steps=self.env_steps)
        self.counts[play.kind] += 1
        return play

    def act(self) -> NDArray[np.int64]:
        """Actions [N]."""
        rng, moves, config = self.rng, self.moves, self.config
        return np.array([p.next_action(rng, moves=moves, config=config) for p in self.plays])

    def add(self, actions: NDArray[np.int64], rewards: NDArray[np.floating]) -> None:
        """What came of the actions; rewards [N] as the environment gives them."""
        self.env_steps += self.num_envs
        raw = (rewards / self.config.reward_scale).tolist()
        for play, action, reward in zip(self.plays, actions.tolist(), raw, strict=True):
            play.add(action, reward)

    def end(self, episode: dict[str, Any], first: NDArray[np.uint8], level: str) -> None:
        """An episode is over; its environment stands at the first observation of `level`."""
        env = episode["env"]
        self.recent_returns.append(episode["r"])
        play, cut = self.plays[env], bool(episode.get("rotated", False))
        outcome = finish(play, self.sequences, config=self.config, cut=cut)
        self.counts["accepted"] += play.kind == "mutant" and outcome.kept
        self.counts["improved"] += outcome.improved
        self.plays[env] = self.new_play(first, level)

    def passes(self, every: int) -> bool:
        """Whether the last step reached or crossed a multiple of `every`; never where that is 0."""
        return every > 0 and self.env_steps % every < self.num_envs

    def summary(self) -> dict[str, float]:
        """The numbers of one row of metrics.csv."""
        best = [b.mean for level in self.sequences.levels if (b := self.sequences.best(level))]
        values: dict[str, float] = {
            "best": float(np.mean(best)) if best else 0.0,
            "replays": self.counts["replay"],
            "accepted": self.counts["accepted"],
            "sequences": len(self.sequences),
            "mutants": self.counts["mutant"],
            "explored": self.counts["explore"],
            "improved": self.counts["improved"],
        }
        if self.recent_returns:
            values["mean_return"] = float(np.mean(self.recent_returns))
        return values

    def save(self, folder: RunFolder, envs: RetroVectorEnv) -> Path:
        """Write a checkpoint from which `restore` goes on exactly, and sequences.json."""
        text = json.dumps(self.sequences.as_json())
        (folder.path / "sequences.json").write_text(text + "\n", encoding="utf-8")
        return save_checkpoint(
            folder.checkpoints,
            agent="jerk",
            config=self.config,
            counters={"env_steps": self.env_steps, **self.counts},
            tensors={},
            state={
                "sequences": self.sequences.save(),
                "plays": [play.save() for play in self.plays],
                "rng": rng_state(),
                "jerk_rng": generator_state(self.rng),
                "recent_returns": list(self.recent_returns),
                "envs": envs.save_states(),
            },
        )

    def restore(self, run_dir: Path, envs: RetroVectorEnv) -> NDArray[np.uint8]:
        """Be what the last checkpoint of a run was -> the observations to act on."""
        saved = load_checkpoint(run_dir)
        self.agent.restore(saved)
        if len(saved.state["plays"]) != self.num_envs:
            raise UserError(
                f"the saved run has {len(saved.state['plays'])} environments, this one "
                f"{self.num_envs}: resume with the same --num-envs"
            )
        self.plays = [Play.restore(play, self.sequences) for play in saved.state["plays"]]
        self.env_steps = saved.counters["env_steps"]
        self.counts = {name: saved.counters[name] for name in COUNTS}
        self.recent_returns.extend(saved.state["recent_returns"])
        set_generator_state(self.rng, saved.state["jerk_rng"])
        obs = envs.restore_states(saved.state["envs"])
        set_rng_state(saved.state["rng"])
        return obs

    def start_from(self, init: Path | str) -> None:
        """Take another run's sequences."""
        self.agent.restore(load_checkpoint(init))


def parse(arguments: list[str]) -> JerkConfig:
    """The config of a command line; a resumed run keeps its own, as far as no flag changes it."""
    call = partial(load_config, JerkConfig, presets=PRESETS, command="python -m jerk.train")
    config = call(arguments)
    own = Path(config.run_dir) / "config.json"
    if config.resume and own.is_file() and "--config" not in arguments:
        config = call(["--config", str(own), *arguments])
    return config


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Search as the command line says."""
    config = parse(list(sys.argv[1:] if argv is None else argv))
    envs = make_vec(
        parse_levels(config.levels),
        num_envs=config.num_envs,
        config=subset(config, EnvConfig),
        seed=config.seed,
        rotate_every=config.rotate_every,
        record_dir=Path(config.run_dir) / "recordings" if config.record else None,
    )
    try:
        run(envs, config, config.run_dir, init=config.init or None)
    finally:
        envs.close()


if __name__ == "__main__":
    main()
