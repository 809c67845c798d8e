"""A JERK run's state: all that changes while `train.run` loops."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jerk import recordings
from jerk.agent import JerkAgent
from jerk.config import JerkConfig
from jerk.episode import SearchEpisode
from jerk.explorer import load_scripts
from jerk.learner import furthest_point
from jerk.memory import BestRuns
from jerk.recordings import Recordings
from jerk.search import Search
from retro_agents.experience.episodes import Episode
from retro_agents.ground.device import prepare_device
from retro_agents.ground.seeding import seed_everything


@dataclass
class Training:
    """All that changes during a run: what a checkpoint holds."""

    config: JerkConfig
    num_envs: int
    env_steps: int = 0
    recent_returns: deque[float] = field(default_factory=lambda: deque(maxlen=100))
    episodes: list[SearchEpisode] = field(default_factory=list)

    def __post_init__(self) -> None:
        config, settings = self.config, self.config.run
        seed_everything(settings.seed)
        device = prepare_device(settings.device, threads=config.torch_threads)
        self.agent = JerkAgent(config, device=str(device))
        if config.rhythm and config.scripts:
            load_scripts(config.scripts, self.agent.moves.names)  # UserError: there are none
        self.search = Search(self.agent, np.random.default_rng(settings.seed))
        self.sequences, self.memory = self.agent.sequences, self.agent.memory
        self.runs = BestRuns(config.runs)
        self.spec = self.agent.spec
        self.recordings: Recordings | None = None
        if config.record:
            self.recordings = Recordings(Path(settings.run_dir) / recordings.FOLDER, self.num_envs)

    def begin(self, obs: NDArray[np.uint8], levels: Sequence[str]) -> None:
        """The first episode of every environment."""
        self.episodes = [SearchEpisode("")] * self.num_envs
        for env, level in enumerate(levels):
            self.begin_play(env, obs[env], level)

    def begin_play(self, env: int, first: NDArray[np.uint8], level: str) -> None:
        """An episode on that level; first: its first observation [C,H,W]."""
        self.sequences.starts.setdefault(level, first.copy())
        self.episodes[env] = self.search.begin(level, env_steps=self.env_steps)

    def add(self, actions: NDArray[np.int64], rewards: NDArray[np.floating]) -> None:
        """What came of the actions; rewards [N] as the environment gives them."""
        self.env_steps += self.num_envs
        raw = (rewards / self.spec.reward_scale).tolist()
        for episode, action, reward in zip(self.episodes, actions.tolist(), raw, strict=True):
            episode.add(action, reward)

    def end(self, report: dict[str, Any], last: NDArray[np.uint8], *, terminated: bool) -> None:
        """An episode is over, of which the environment reports that. last: its last observation
        [C,H,W]."""
        episode = self.episodes[report["env"]]
        self.recent_returns.append(report["r"])
        kept = self.search.end(episode, cut=bool(report.get("rotated", False)))
        length, value = furthest_point(episode.rewards)
        if self.config.write_replay and self.runs.wants(episode.level, value):
            self.keep_run(episode, length, last[-self.spec.channels :], terminated=terminated)
        if self.recordings is not None:
            name = self.recordings.ended(report["env"], episode.level, report["r"])
            if kept is not None and not kept.recording:
                kept.recording = name

    def keep_run(
        self, episode: SearchEpisode, length: int, last: NDArray[np.uint8], *, terminated: bool
    ) -> None:
        """Keep that many steps of an ended episode. last: its last frame [c,H,W]."""
        run = Episode(
            episode.level,
            np.array(episode.actions[:length], np.uint8),
            np.array(episode.rewards[:length]),
            terminated and length == len(episode.actions),
            action_names=self.spec.action_names,
            frame_skip=self.spec.frame_skip,
            frames=np.stack([*episode.frames, last][: length + 1]),
        )
        self.runs.add(run)

    def passes(self, every: int) -> bool:
        """Whether the last step reached or crossed a multiple of `every`; never where that is 0."""
        return every > 0 and self.env_steps > 0 and self.env_steps % every < self.num_envs

    def summary(self) -> dict[str, float]:
        """The numbers of one row of metrics.csv."""
        best = [b.mean for level in self.sequences.levels if (b := self.sequences.best(level))]
        counts = self.search.counts
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
