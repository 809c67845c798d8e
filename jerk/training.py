"""All that changes during a run of JERK, and how it is saved and restored; and what it leaves for
people and other programs."""

import json
import shutil
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from jerk import recordings
from jerk.agent import JerkAgent
from jerk.config import JerkConfig
from jerk.episode import SearchEpisode
from jerk.explorer import load_scripts
from jerk.learner import Learner, furthest_point
from jerk.memory import BestRuns, sample
from jerk.recordings import Recordings
from jerk.search import Search
from retro_agents.contract.envs import VectorEnv, saved_states
from retro_agents.experience.episodes import REPLAY, Episode, pack, unpack, write_episodes
from retro_agents.ground.device import prepare_device
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import write_text
from retro_agents.ground.generators import generator_state, set_generator_state
from retro_agents.ground.seeding import rng_state, seed_everything, set_rng_state
from retro_agents.run.checkpoint import Checkpoint, save_checkpoint
from retro_agents.run.fields import flag_with
from retro_agents.run.folder import alone_in
from retro_agents.run.optimiser import optimiser_tensors, restore_optimiser
from retro_agents.run.run import EndedEpisode, RunState

COUNTERS = ("env_steps", "updates", "first_run")


class SavedState(msgspec.Struct):
    """The state of a checkpoint, beside the agent's."""

    plays: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    counts: dict[str, int]
    envs: list[dict[str, Any]]
    rng: dict[str, Any]
    jerk_rng: str
    recent_returns: list[float]
    latest: dict[str, float]
    recordings: dict[str, Any] | None = None


@dataclass
class Training(RunState):
    """Holds the agent, its search, and the episodes that the environments are in."""

    name = "jerk"
    config: JerkConfig
    num_envs: int
    env_steps: int = 0
    updates: int = 0
    first_run: int = 0
    """Agent steps of the search when the first of the best runs was kept."""
    latest: dict[str, float] = field(default_factory=dict)
    """Metrics of the last update."""
    recent_returns: deque[float] = field(default_factory=lambda: deque(maxlen=100))
    episodes: list[SearchEpisode] = field(default_factory=list)

    def __post_init__(self) -> None:
        config, settings = self.config, self.config.run
        seed_everything(settings.seed)
        device = prepare_device(settings.device, threads=config.torch_threads)
        self.agent = JerkAgent(config, device=str(device))
        if config.rhythm and config.scripts:
            load_scripts(config.scripts, self.agent.moves.names)  # raises UserError
        self.search = Search(self.agent, np.random.default_rng(settings.seed))
        self.sequences = self.agent.sequences
        self.runs = BestRuns(config.runs)
        self.spec, self.reward_scale = self.agent.spec, self.agent.spec.reward_scale
        self.learner: Learner | None = None
        self.recordings: Recordings | None = None
        if config.record:
            self.recordings = Recordings(Path(settings.run_dir) / recordings.FOLDER, self.num_envs)

    def start(self, init: Path | str | None, envs: VectorEnv) -> NDArray[np.uint8]:
        """Starts a run, from a checkpoint if one is given. Returns the first observations."""
        self.take_scale(envs)
        self.agent.start_from(init)
        self.make_learner()
        obs, _ = envs.reset(seed=self.config.run.seed)
        for image, level in zip(obs, envs.levels, strict=True):  # init may know it by another name
            if (known := self.agent.recognise(image)) not in envs.levels:  # it is played, too
                self.sequences.rename(known, level)
        self.begin(obs, envs.levels)
        return obs

    def take_scale(self, envs: VectorEnv) -> None:
        """Takes the scale of the environments' rewards. Raises UserError if these differ from the
        config's in anything else."""
        own, theirs = self.spec.rewards, envs.env_spec.rewards
        for name in sorted(own.keys() & theirs.keys() - {"reward_scale"}):
            if own[name] != theirs[name]:
                raise UserError(
                    f"the environments have {flag_with(name, theirs[name])}, and the config "
                    f"{flag_with(name, own[name])}: give both the same"
                )
        self.reward_scale = envs.env_spec.reward_scale

    def make_learner(self) -> None:
        """Makes the learner of the agent's policy, if it learns."""
        if self.config.learn_every and self.agent.policy is not None:
            self.learner = Learner(self.agent.policy.actor, self.config)

    def learn(self) -> None:
        """Makes the updates that are due: one per `learn_every` steps since the first run."""
        if self.learner is None or not len(self.runs):
            return
        due = (self.env_steps - self.first_run) // self.config.learn_every
        while self.updates < due:
            self.updates += 1
            actions_known = self.learner.policy.config.env.spec().actions
            obs, actions, weights = sample(
                self.runs.all(), self.config.batch_size, self.search.rng, spec=self.spec
            )
            if (known := actions < actions_known).any():
                self.latest = self.learner.update(obs[known], actions[known], weights[known])

    def begin(self, obs: NDArray[np.uint8], levels: Sequence[str]) -> None:
        """Begins the first episode of every environment."""
        self.episodes = [SearchEpisode("")] * self.num_envs
        for env, level in enumerate(levels):
            self.begin_episode(env, obs[env], level)

    def begin_episode(self, env: int, first: NDArray[np.uint8], level: str) -> None:
        """Begins an episode on that level; first: its first observation [C,H,W]."""
        self.sequences.starts.setdefault(level, first.copy())
        self.episodes[env] = self.search.begin(level, env_steps=self.env_steps)

    def add(self, actions: NDArray[np.int64], rewards: NDArray[np.floating]) -> None:
        """Adds a step to every episode; rewards [N] as the environment gives them."""
        self.env_steps += self.num_envs
        raw = (rewards / self.reward_scale).tolist()
        for episode, action, reward in zip(self.episodes, actions.tolist(), raw, strict=True):
            episode.add(action, reward)

    def end(
        self, report: dict[str, Any], last: NDArray[np.uint8], *, terminated: bool
    ) -> EndedEpisode:
        """Ends an episode, of which the environment gives a report. Returns what the run reports.
        last: its last observation [C,H,W]."""
        episode = self.episodes[report["env"]]
        self.recent_returns.append(report["r"])
        sequence = self.search.end(episode, cut=bool(report.get("rotated", False)))
        length, value = furthest_point(episode.rewards)
        if self.config.keeps_runs and self.runs.wants(episode.level, value):
            self.first_run = self.first_run if len(self.runs) else self.env_steps
            self.keep_run(episode, length, last[-self.spec.channels :], terminated=terminated)
        if self.recordings is not None:
            name = self.recordings.ended(report["env"], episode.level, report["r"])
            if sequence is not None and not sequence.recording:
                sequence.recording = name
        return self.env_steps, report["env"], {**report, "kind": episode.kind}

    def keep_run(
        self, episode: SearchEpisode, length: int, last: NDArray[np.uint8], *, terminated: bool
    ) -> None:
        """Keep the first `length` steps of an ended episode. last: its last frame [c,H,W]."""
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

    def summary(self) -> dict[str, float]:
        """The numbers of one row of metrics.csv."""
        best = [b for level in self.sequences.levels if (b := self.sequences.best(level))]
        counts = self.search.counts
        values: dict[str, float] = {
            "sequence_return": float(np.mean([one.mean for one in best])) if best else 0.0,
            "sequence_plays": float(np.mean([len(one.returns) for one in best])) if best else 0.0,
            "replays": counts["replay"],
            "accepted": counts["accepted"],
        }
        if (memory := self.agent.memory) is not None:
            values["memory"] = len(memory)
            values["hit_rate"] = counts["answered"] / max(1, counts["asked"])
            values["merged"] = memory.merged
        if self.learner is not None:
            values |= {"updates": self.updates, **self.latest}
        values |= {
            "sequences": len(self.sequences),
            "mutants": counts["mutant"],
            "explored": counts["explore"],
            "improved": counts["improved"],
        }
        if self.recent_returns:
            values["mean_return"] = float(np.mean(self.recent_returns))
        return values

    def save(self, run_dir: Path | str, envs: VectorEnv) -> None:
        """Writes a checkpoint, from which a run can resume exactly, sequences.json, and the replay.
        Removes recordings that the checkpoint does not name."""
        run_dir, agent, spec = Path(run_dir), self.agent, self.spec
        table = {"buttons": spec.action_names, "frame_skip": spec.frame_skip}
        table |= {"levels": self.sequences.as_json()}
        write_text(run_dir / "sequences.json", json.dumps(table) + "\n")
        state = agent.state()
        if self.recordings is not None:
            state["recordings"] = self.recordings.save()
        arrays, state["runs"] = pack(self.runs.all())
        tensors = agent.tensors()
        if self.learner is not None:
            tensors["optimiser"] = optimiser_tensors(self.learner.optimiser)
        if frames := [frame for episode in self.episodes for frame in episode.frames]:
            arrays["play-frames"] = np.stack(frames)
        save_checkpoint(
            run_dir / "checkpoints",
            agent=self.name,
            config=self.config,
            counters={name: getattr(self, name) for name in COUNTERS},
            tensors=tensors,
            arrays={**agent.memory_arrays(), **arrays},
            state={
                **state,
                "plays": [episode.save() for episode in self.episodes],
                "counts": dict(self.search.counts),
                "rng": rng_state(),
                "jerk_rng": generator_state(self.search.rng),
                "recent_returns": list(self.recent_returns),
                "latest": self.latest,
                "envs": saved_states(envs),
            },
        )
        if self.config.write_replay and len(self.runs):
            self.write_replay(run_dir / REPLAY)
        if self.recordings is not None:
            self.recordings.prune(self.sequences.recordings())

    def write_replay(self, folder: Path) -> None:
        """Writes the best runs as recorded episodes, the best of all last, with the policy that
        JERK was given."""
        runs, policy = self.runs.all(), self.agent.policy
        behind: dict[str, Any] = {}
        if policy is not None:
            net = policy.actor.net.state_dict()
            behind = {"agent": policy.package, "config": policy.config, "net": net}
        runs.sort(key=lambda run: run.total_reward)
        write_episodes(folder, runs, env_steps=self.env_steps, **behind)

    def restore(self, saved: Checkpoint, envs: VectorEnv) -> NDArray[np.uint8]:
        """Restores the run from a checkpoint. Returns the observations to act on. Removes a replay
        that was written later, as rows of metrics are removed."""
        self.take_scale(envs)
        self.agent.restore(saved)
        self.runs = BestRuns(self.config.runs)  # drops what a damaged checkpoint left
        saved.check_run("plays")
        state = saved.state_as(SavedState)
        saved.check_same(self.config)
        if self.recordings is not None and state.recordings is not None:
            self.recordings.restore(state.recordings)
        self.agent.restore_memory(saved)
        self.make_learner()
        if self.learner is not None:
            restore_optimiser(self.learner.optimiser, saved.tensors["optimiser"])
        for run in unpack(saved.arrays, state.runs):
            self.runs.add(run)
        self.episodes = [SearchEpisode.restore(episode, self.sequences) for episode in state.plays]
        if "play-frames" in saved.arrays:
            frames = iter(saved.arrays["play-frames"])
            for episode in self.episodes:
                episode.frames = [next(frames) for _ in episode.actions]
        for name in COUNTERS:
            setattr(self, name, saved.counters[name])
        self.latest = state.latest
        self.search.counts.clear()
        self.search.counts.update(state.counts)
        self.recent_returns.clear()
        self.recent_returns.extend(state.recent_returns)
        set_generator_state(self.search.rng, state.jerk_rng)
        run_dir = saved.folder.parents[1]
        with alone_in(run_dir):  # from here on, recordings are written there
            obs = envs.restore_states(state.envs)
            for replay in (run_dir / REPLAY).glob("step-*"):
                if replay.name > f"step-{self.env_steps:09d}":
                    shutil.rmtree(replay)
        set_rng_state(state.rng)
        return obs
