# PYTHON_ARGCOMPLETE_OK
"""JERK's only loop: searching levels for experience and playing the contest both run it.

python -m jerk.train --preset mutating --levels GAME:STATE --timesteps 200000 --run-dir runs/jerk
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs import VectorEnv, ended_episodes, make_for, train
from experience.advantages import returns_to_go
from experience.episodes import Episode
from experiment.device import prepare_device
from experiment.errors import command
from experiment.run_folder import RunFolder, interruptible, reports
from experiment.seeding import seed_everything
from jerk import parse
from jerk.agent import JerkAgent
from jerk.config import JerkConfig
from jerk.explorer import load_scripts
from jerk.learner import Bout, furthest_point
from jerk.memory import BestRuns
from jerk.play import Play, begin, finish
from jerk.saving import RECORDINGS, Recordings, restore, save

GAMMA = 0.99
"""Discount per agent step of the returns that the memory stores."""


def run(
    envs: VectorEnv,
    config: JerkConfig,
    run_dir: Path | str,
    init: Path | str | None = None,
) -> JerkAgent:
    """Search on `envs` for config.run.timesteps agent steps and return the agent.

    run_dir: where config, metrics, episodes, sequences.json and checkpoints go; with
    config.run.resume an existing run goes on. init: a checkpoint of JERK that gives sequences,
    memory and policy, or of another agent that gives the policy.
    """
    training = Training(config, envs.num_envs)
    if config.run.resume:
        obs = restore(training, Path(run_dir), envs)
    else:
        training.agent.start_from(init)
        obs, _ = envs.reset(seed=config.run.seed)
        training.begin(obs, envs.levels)
    agent = training.agent
    with (
        reports(run_dir, config, "jerk", env_steps=training.env_steps) as report,
        interruptible(run_dir) as interrupted,
    ):
        folder, metrics, episodes, progress = report
        while training.env_steps < config.run.timesteps and not interrupted():
            actions = agent.explore(training.plays, obs, training.rng)
            envs.step_async(actions)
            obs, rewards, terminated, _, infos = envs.step_wait()
            training.add(actions, rewards)
            for episode in ended_episodes(infos):
                env = episode["env"]
                kind = training.plays[env].kind
                episodes.log(training.env_steps, env, {**episode, "kind": kind})
                training.end(episode, infos["final_obs"][env], terminated=bool(terminated[env]))
                training.begin_play(env, obs[env], envs.levels[env])
            if training.passes(config.log_every):
                values = training.summary()
                metrics.log(training.env_steps, values)
                progress.update(training.env_steps, values)
            if training.passes(config.run.checkpoint_every):
                save(training, folder, envs)
        progress.update(training.env_steps)
        if not training.passes(config.run.checkpoint_every):
            save(training, folder, envs)
    return agent


@dataclass
class Training:
    """All that changes during a run: what a checkpoint holds."""

    config: JerkConfig
    num_envs: int
    env_steps: int = 0
    recent_returns: deque[float] = field(default_factory=lambda: deque(maxlen=100))
    plays: list[Play] = field(default_factory=list)

    def __post_init__(self) -> None:
        config, settings = self.config, self.config.run
        seed_everything(settings.seed)
        self.rng = np.random.default_rng(settings.seed)
        device = prepare_device(settings.device, threads=config.torch_threads)
        self.agent = JerkAgent(config, device=str(device))
        if config.rhythm and config.scripts:
            load_scripts(config.scripts, self.agent.moves.names)  # UserError: there are none
        self.sequences, self.memory = self.agent.sequences, self.agent.memory
        self.counts = self.agent.counts
        self.runs = BestRuns(config.runs)
        self.spec = self.agent.spec
        self.recordings: Recordings | None = None
        if config.record:
            self.recordings = Recordings(Path(settings.run_dir) / RECORDINGS, self.num_envs)

    def begin(self, obs: NDArray[np.uint8], levels: Sequence[str]) -> None:
        """The first episode of every environment."""
        self.plays = [Play("")] * self.num_envs
        for env, level in enumerate(levels):
            self.begin_play(env, obs[env], level)

    def begin_play(self, env: int, first: NDArray[np.uint8], level: str) -> None:
        """An episode on that level; first: its first observation [C,H,W]. The policy plays a
        level's first one alone, if it may play."""
        self.sequences.starts.setdefault(level, first.copy())
        alone = self.config.policy_replays > 0.0 and self.sequences.best(level) is None
        play = begin(
            level,
            self.sequences,
            self.rng,
            moves=self.agent.moves,
            config=self.config,
            env_steps=self.env_steps,
        )
        if alone:
            play.bout = Bout(steps_left=-1, player="policy")
        self.counts[play.kind] += 1
        self.plays[env] = play

    def add(self, actions: NDArray[np.int64], rewards: NDArray[np.floating]) -> None:
        """What came of the actions; rewards [N] as the environment gives them."""
        self.env_steps += self.num_envs
        raw = (rewards / self.spec.reward_scale).tolist()
        for play, action, reward in zip(self.plays, actions.tolist(), raw, strict=True):
            play.add(action, reward)

    def end(self, episode: dict[str, Any], last: NDArray[np.uint8], *, terminated: bool) -> None:
        """An episode is over. last: its last observation [C,H,W]."""
        play = self.plays[episode["env"]]
        self.recent_returns.append(episode["r"])
        cut = bool(episode.get("rotated", False))
        kept, improved = finish(play, self.sequences, config=self.config, cut=cut)
        self.counts["accepted"] += play.kind == "mutant" and kept is not None
        self.counts["improved"] += improved
        if self.memory is not None:
            returns = returns_to_go(play.rewards, gamma=GAMMA)
            seen = np.stack(play.embeddings).astype(np.float32)
            self.memory.add_batch(seen, play.actions, returns)
        length, value = furthest_point(play.rewards)
        if self.config.write_replay and self.runs.wants(play.level, value):
            self.keep_run(play, length, last[-self.spec.channels :], terminated=terminated)
        if self.recordings is not None:
            name = self.recordings.ended(episode["env"], play.level, episode["r"])
            if kept is not None and not kept.recording:
                kept.recording = name

    def keep_run(
        self, play: Play, length: int, last: NDArray[np.uint8], *, terminated: bool
    ) -> None:
        """Keep that many steps of an ended episode. last: its last frame [c,H,W]."""
        run = Episode(
            play.level,
            np.array(play.actions[:length], np.uint8),
            np.array(play.rewards[:length]),
            terminated and length == len(play.actions),
            action_names=self.spec.action_names,
            frame_skip=self.spec.frame_skip,
            frames=np.stack([*play.frames, last][: length + 1]),
        )
        self.runs.add(run)

    def passes(self, every: int) -> bool:
        """Whether the last step reached or crossed a multiple of `every`; never where that is 0."""
        return every > 0 and self.env_steps > 0 and self.env_steps % every < self.num_envs

    def summary(self) -> dict[str, float]:
        """The numbers of one row of metrics.csv."""
        best = [b.mean for level in self.sequences.levels if (b := self.sequences.best(level))]
        counts = self.counts
        values: dict[str, float] = {
            "best": float(np.mean(best)) if best else 0.0,
            "replays": counts["replay"],
            "accepted": counts["accepted"],
        }
        if self.memory is not None:
            values["memory"] = len(self.memory)
            values["hit_rate"] = counts["answered"] / max(1, counts["asked"])
            values["merged"] = self.memory.merged
        values |= {
            "sequences": len(self.sequences),
            "mutants": counts["mutant"],
            "explored": counts["explore"],
            "improved": counts["improved"],
        }
        if self.recent_returns:
            values["mean_return"] = float(np.mean(self.recent_returns))
        return values


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Search as the command line says."""
    config = parse(argv)
    if not config.run.resume:
        RunFolder(Path(config.run.run_dir)).check_free()  # before a recording begins there
    folder = Path(config.run.run_dir) / RECORDINGS
    train(run, config, make_for(config, record_dir=folder if config.record else None))


if __name__ == "__main__":
    main()
