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
from jerk.explorer import load_scripts
from jerk.learner import Bout, furthest_point
from jerk.memory import BestRuns
from jerk.play import Play, begin, finish
from jerk.recordings import Recordings
from retro_agents.experience.advantages import returns_to_go
from retro_agents.experience.episodes import Episode
from retro_agents.ground.device import prepare_device
from retro_agents.ground.seeding import seed_everything

GAMMA = 0.99
"""Discount per agent step of the returns that the memory stores."""


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
            self.recordings = Recordings(Path(settings.run_dir) / recordings.FOLDER, self.num_envs)

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
