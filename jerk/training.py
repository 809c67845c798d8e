"""A JERK run's state: all that changes while `train.run` loops. `saving.py` writes it down."""

import copy
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiment.config import subset
from experiment.device import prepare_device
from experiment.seeding import seed_everything
from jerk.agent import JerkAgent
from jerk.config import JerkConfig
from jerk.learner import (
    MEMORY,
    POLICY,
    RULE,
    Gains,
    Learner,
    Shares,
    choose_player,
    furthest_point,
    returns_to_go,
)
from jerk.memory import Run, Runs
from jerk.play import Play, begin, finish
from jerk.policy import is_rainbow
from jerk.recordings import RECORDINGS, Recordings
from lsh_memory import EpisodicMemory, MemoryConfig
from retro_env import EnvConfig

COUNTS = ("explore", "replay", "mutant", "accepted", "improved", "asked", "answered", "lost")
"""Episodes begun of each kind; mutants whose run was kept; runs that became the best; steps at
which the memory was asked, and had an answer; steps at which a replay was lost."""

PLAYERS = {RULE: "rule", POLICY: "policy", MEMORY: "memory"}
"""As the metrics name them."""
FIRST_UPDATES = 200
"""After which an untrained policy may play."""


@dataclass
class Training:
    """All that changes during a run: what a checkpoint holds."""

    config: JerkConfig
    num_envs: int
    env_steps: int = 0
    updates: int = 0
    learning_since: int = -1
    """Agent steps when there was something to learn from; -1: not yet."""
    policy_returns: dict[str, float] = field(default_factory=dict)
    """The most that it reached on each level, in the episodes that it played alone."""
    gains: dict[str, Gains] = field(default_factory=dict)
    """What each player's explorations brought on each level, where they are chosen by that."""
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    recent_returns: deque[float] = field(default_factory=lambda: deque(maxlen=100))
    latest: dict[str, float] = field(default_factory=dict)
    plays: list[Play] = field(default_factory=list)

    def __post_init__(self) -> None:
        config = self.config
        seed_everything(config.seed)
        self.rng = np.random.default_rng(config.seed)
        self.device = str(prepare_device(config.device, threads=config.torch_threads))
        self.agent = JerkAgent(config, device=self.device)
        self.sequences, self.moves = self.agent.sequences, self.agent.moves
        self.runs = Runs(config.runs)
        self.channels = subset(config, EnvConfig).channels
        self.learner: Learner | None = None
        self.memory: EpisodicMemory | None = None
        if config.memory_share > 0.0:
            self.memory = EpisodicMemory(
                MemoryConfig(
                    config.embedding, actions=config.actions, capacity=config.memory_capacity
                )
            )
        self.recordings: Recordings | None = None
        if config.record:
            self.recordings = Recordings(Path(config.run_dir) / RECORDINGS, self.num_envs)

    def make_learner(self) -> None:
        """With the policy there is now."""
        agent, config, policy = self.agent, self.config, self.agent.policy
        keeps = config.learn or config.write_replay
        if keeps and policy is not None and is_rainbow(policy) and not agent.given:
            agent.given = copy.deepcopy(policy.net.state_dict())
        if config.learn and policy is not None:
            self.learner = Learner(policy, self.config, device=self.device)

    def begin(self, obs: NDArray[np.uint8], levels: Sequence[str]) -> None:
        """The first episode of every environment."""
        self.plays = [Play("")] * self.num_envs
        for env, level in enumerate(levels):
            self.begin_play(env, obs[env], level)

    def begin_play(self, env: int, first: NDArray[np.uint8], level: str) -> None:
        """An episode on that level; first: its first observation [C,H,W]."""
        if level not in self.sequences.starts:
            self.sequences.starts[level] = first.copy()
        config = self.config
        play = begin(level, self.sequences, self.rng, config=config, env_steps=self.env_steps)
        play.player = self.player(level)
        self.counts[play.kind] += 1
        self.plays[env] = play

    def player(self, level: str) -> int | None:
        """Who explores in an episode: the policy in the first one, if it may play."""
        shares, config = self.shares(), self.config
        if shares.policy > 0.0 and self.sequences.best(level) is None:
            return POLICY
        if not config.by_success:
            return None
        players = [RULE]
        players += [POLICY] if shares.policy > 0.0 else []
        players += [MEMORY] if shares.memory > 0.0 else []
        gains = self.gains.get(level, {})
        return choose_player(gains, players, self.rng, spread=config.bound_spread)

    def act(self, obs: NDArray[np.uint8]) -> NDArray[np.int64]:
        """obs uint8 [N,C,H,W] -> actions [N]; what was seen is remembered where it is needed."""
        rng, moves, config = self.rng, self.moves, self.config
        seen: Any = [None] * self.num_envs
        if self.agent.embedder is not None:
            seen = self.agent.embedder(obs)
            for play, row in zip(self.plays, seen.astype(np.float16), strict=True):
                play.embeddings.append(row)
        if config.keeps_frames:
            for play, image in zip(self.plays, obs, strict=True):
                play.frames.append(image[-self.channels :].copy())
        shares = self.shares()
        actions = np.array(
            [
                play.next_action(rng, moves=moves, config=config, shares=shares, seen=row)
                for play, row in zip(self.plays, seen, strict=True)
            ]
        )
        if (actions < 0).any():
            self.ask(actions, obs, seen)
        return actions

    def shares(self) -> Shares:
        """Of the policy and the memory, as soon as they know something."""
        return Shares(
            policy=self.config.policy_share if self.agent.able_policy() is not None else 0.0,
            memory=self.config.memory_share
            if self.memory is not None and len(self.memory)
            else 0.0,
        )

    def ask(self, actions: NDArray[np.int64], obs: NDArray[np.uint8], seen: Any) -> None:
        """Put actions where the memory or the policy is asked for: the memory's, where it has an
        answer; else the plan's, if there is one; else the policy's, if it may play; else a step of
        exploration."""
        rows = np.flatnonzero(actions == MEMORY)
        self.counts["lost"] += sum(not self.plays[row].exploring for row in rows)
        if len(rows) and self.memory is not None and len(self.memory):
            actions[rows] = self.remembered(seen[rows])
        policy = self.agent.able_policy() if self.shares().policy > 0.0 else None
        rows = np.array([r for r in np.flatnonzero(actions < 0) if self.plays[r].exploring], int)
        if len(rows) and policy is not None:
            actions[rows] = policy.act(obs[rows], explore=True)
        for row in np.flatnonzero(actions < 0):
            planned = self.plays[row].fallback
            jumps = self.rng.random() < 0.3  # about as often as exploration
            move = self.moves.right_jump if jumps else self.moves.right
            actions[row] = move if planned is None else planned

    def remembered(self, seen: NDArray[np.float32]) -> NDArray[np.int64]:
        """The actions [B] with the largest value in the memory; POLICY where nothing is near."""
        assert self.memory is not None
        found = self.memory.action_values_batch(
            seen, self.config.memory_neighbours, within=self.config.memory_distance
        )
        near = (found.weights > 0.0).any(axis=1)
        self.counts["asked"] += len(seen)
        self.counts["answered"] += int(near.sum())
        values = np.where(np.isnan(found.values), -np.inf, found.values)
        return np.where(near, values.argmax(axis=1), POLICY)

    def add(self, actions: NDArray[np.int64], rewards: NDArray[np.floating]) -> None:
        """What came of the actions; rewards [N] as the environment gives them."""
        self.env_steps += self.num_envs
        raw = (rewards / self.config.reward_scale).tolist()
        for play, action, reward in zip(self.plays, actions.tolist(), raw, strict=True):
            play.add(action, reward)

    def end(self, episode: dict[str, Any], last: NDArray[np.uint8], *, terminated: bool) -> None:
        """An episode is over. last: its last observation [C,H,W]."""
        play = self.plays[episode["env"]]
        self.recent_returns.append(episode["r"])
        cut = bool(episode.get("rotated", False))
        outcome = finish(play, self.sequences, config=self.config, cut=cut)
        self.counts["accepted"] += play.kind == "mutant" and outcome.kept is not None
        self.counts["improved"] += outcome.improved
        if self.memory is not None:
            returns = returns_to_go(play.rewards, gamma=self.config.gamma)
            seen = np.stack(play.embeddings).astype(np.float32)
            self.memory.add_batch(seen, play.actions, returns)
        if play.kind == "explore" and play.player == POLICY:
            before = self.policy_returns.get(play.level, -np.inf)
            self.policy_returns[play.level] = max(before, play.furthest)
        waited = play.kind == "replay" and not self.config.go_on
        if play.player is not None and play.exploring and not (waited or cut):
            gains = self.gains.setdefault(play.level, {}).setdefault(play.player, [])
            gains.append(play.furthest - play.given)
        if self.config.keeps_frames:
            self.keep_run(play, last[-self.channels :], terminated=terminated)
        if self.recordings is not None:
            name = self.recordings.ended(episode["env"], play.level, episode["r"])
            if outcome.kept is not None and not outcome.kept.recording:
                outcome.kept.recording = name

    def keep_run(self, play: Play, last: NDArray[np.uint8], *, terminated: bool) -> None:
        """Keep an ended episode up to its furthest point if it is one of the best."""
        length, value = furthest_point(play.rewards)
        if not self.runs.wants(play.level, value):
            return
        whole = length == len(play.actions)
        run = Run(
            frames=np.stack([*play.frames, last][: length + 1]),
            actions=np.array(play.actions[:length], np.uint8),
            rewards=np.array(play.rewards[:length]),
            terminated=terminated and whole,
        )
        self.runs.add(play.level, run)
        if self.learning_since < 0:
            self.learning_since = self.env_steps

    def updates_due(self) -> int:
        """Updates that should have been made by now."""
        if self.learner is None or self.learning_since < 0:
            return 0
        return (self.env_steps - self.learning_since) // self.config.update_every

    def update(self) -> None:
        """Let the policy learn from steps of the best runs, as far as it has their actions; of none
        that came no further than it did itself."""
        assert self.learner is not None
        self.updates += 1
        self.agent.policy_knows |= self.updates >= FIRST_UPDATES
        config, policy = self.config, self.learner.policy
        runs = self.runs.better(self.policy_returns)
        if not runs:
            return
        obs, actions, weights = self.runs.sample(
            runs, config.batch_size, self.rng, frame_stack=config.frame_stack
        )
        known = actions < policy.config.actions
        if known.any():
            self.latest = self.learner.update(obs[known], actions[known], weights[known])

    def passes(self, every: int) -> bool:
        """Whether the last step reached or crossed a multiple of `every`; never where that is 0."""
        return every > 0 and self.env_steps % every < self.num_envs

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
            **self.latest,
        }
        if self.config.closed_loop:
            values["lost"] = counts["lost"]
        for player, name in PLAYERS.items() if self.config.by_success else ():
            gains = [gain for level in self.gains.values() for gain in level.get(player, ())]
            values[f"explored_{name}"] = len(gains)
            values[f"gain_{name}"] = float(np.mean(gains)) if gains else 0.0
        if self.recent_returns:
            values["mean_return"] = float(np.mean(self.recent_returns))
        return values
