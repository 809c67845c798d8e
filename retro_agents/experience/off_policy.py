"""All that changes during a run that learns from a replay, and how it is saved and restored."""

import sys
from collections import deque
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

from retro_agents.contract.envs import VectorEnv, saved_states
from retro_agents.experience.episodes import episodes_of, left_by
from retro_agents.experience.replay import Replay
from retro_agents.experience.replay_seed import check_seen_alike, seed_replay
from retro_agents.ground import seeding
from retro_agents.ground.device import memory_for, prepare_device
from retro_agents.ground.errors import UserError
from retro_agents.ground.generators import generator_state, set_generator_state
from retro_agents.run.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from retro_agents.run.distrust import reading
from retro_agents.run.optimiser import optimiser_tensors, restore_optimiser
from retro_agents.run.run import EndedEpisode, RunState

BYTES_BESIDE_FRAME = 24
"""Of a step in a replay."""


def make_replay(config: Any, num_envs: int, *, capacity: int = 0) -> Replay:
    """Makes an empty replay for an agent's config; capacity: of another size. Raises UserError if
    it is too short to learn from, or there is no memory for it."""
    steps, spec = capacity or config.replay_size, config.env.spec()
    frame = spec.channels, *spec.observation_shape[1:]
    size = steps * (prod(frame) + BYTES_BESIDE_FRAME)
    advice = "give a smaller --replay-size"
    try:
        with memory_for(f"a replay of {steps:,} steps", instead=advice, size=size):
            return Replay(
                steps,
                num_envs,
                frame_shape=frame,
                steps_back=spec.steps_back,
                n_step=config.n_step,
                gamma=config.gamma,
                alpha=config.priority_alpha,
                epsilon=config.priority_epsilon,
                prioritised=config.prioritised,
            )
    except ValueError as error:
        raise UserError(f"{error}; give a larger --replay-size or fewer --num-envs") from None


class SavedState(msgspec.Struct):
    """The state of a checkpoint, see `OffPolicy.save`."""

    rng: dict[str, Any]
    replay_rng: str
    recent_returns: list[float]
    latest: dict[str, float]
    envs: list[dict[str, Any]] | None = None


class OffPolicy(RunState):
    """The base of a `Training` that learns from a replay. The subclass makes the `agent` and the
    `learner`, which has a `target` and an `optimiser`, after this has seeded the generators."""

    env_steps = 0  # an attribute instead of `RunState`'s property
    learner: Any

    def __init__(self, config: Any, num_envs: int) -> None:
        settings = config.run
        seeding.seed_everything(settings.seed)
        self.config, self.num_envs = config, num_envs
        self.updates = self.seeded = 0
        self.recent_returns: deque[float] = deque(maxlen=100)
        self.latest: Mapping[str, float | torch.Tensor] = {}
        self.rng = np.random.default_rng(settings.seed)
        self.device = prepare_device(settings.device, threads=config.computing.torch_threads)
        self.replay = make_replay(config, num_envs)

    @property
    def learns_from(self) -> str:
        """What the first update needs, while it has not been made; otherwise ""."""
        return "" if self.updates else f"{self.config.learning_starts:,} steps (--learning-starts)"

    def start(self, init: Path | str | None, envs: VectorEnv | None) -> NDArray[np.uint8] | None:
        """Starts a run, from a checkpoint if one is given. Returns as `begin` does."""
        if init:
            self.start_from(init)
        return self.begin(envs)

    def begin(self, envs: VectorEnv | None) -> NDArray[np.uint8] | None:
        """Begins new episodes. Returns the first observations, or None if what plays does this."""
        return None

    def start_from(self, init: Path | str) -> None:
        """Takes the weights of another run's checkpoint, and seeds the replay with its newest
        transitions, or with recorded episodes, which may come without weights: those at the path,
        or those that another agent's run left."""
        saved, config = load_checkpoint(init), self.config
        if saved.agent != self.name:
            saved = load_checkpoint(left_by(init))
        with reading(saved.folder):
            if saved.agent == self.name or not episodes_of(saved):
                self.take(saved)  # raises UserError if it is another agent's
            elif not config.init_replay:
                raise UserError(
                    f"{saved.folder} holds episodes without weights of {self.name}: give an "
                    "--init-replay above 0, or leave out --init"
                )
            self.seeded = seed_replay(self.replay, saved, config.init_replay, ours=config.env)

    def take(self, saved: Checkpoint) -> None:
        """Takes a checkpoint's weights, for the target too."""
        self.agent.load_weights(saved)
        self.learner.target.load_state_dict(self.agent.net.state_dict())

    def count(
        self, rows: int, episodes: Sequence[dict[str, Any]], *, first: int = 0
    ) -> list[EndedEpisode]:
        """Counts a step of so many environments. Returns the episodes that ended in it, as the run
        reports them. first: the number of the first environment."""
        self.env_steps += rows
        self.recent_returns.extend(episode["r"] for episode in episodes)
        return [(self.env_steps, first + episode["env"], episode) for episode in episodes]

    def updates_due(self) -> int:
        """Returns the number of updates due by now; it stays while there is nothing to draw."""
        if self.replay.tree.total <= 0.0:
            return self.updates
        start = max(0, self.config.learning_starts - self.seeded)
        return max(0, self.env_steps - start) // self.config.update_every

    def learn(self, *, beta: float) -> None:
        """Draws a batch, learns from it, and sets its priorities. beta: of importance weights."""
        batch = self.replay.sample(self.config.batch_size, beta=beta, rng=self.rng)
        losses, self.latest = self.learner.update(batch)
        self.replay.update_priorities(batch.indices, losses.cpu().numpy())
        self.updates += 1

    def summary(self) -> dict[str, float]:
        """Returns the numbers of one row of metrics.csv."""
        values = {name: float(value) for name, value in self.latest.items()}
        if self.recent_returns:
            values["mean_return"] = float(np.mean(self.recent_returns))
        return {**values, "updates": self.updates, "replay": self.replay.size}

    def counters(self) -> dict[str, int]:
        """Returns what is counted, by the name of its attribute."""
        return {"env_steps": self.env_steps, "updates": self.updates, "seeded": self.seeded}

    def save(self, run_dir: Path | str, envs: VectorEnv | None) -> None:
        """Writes a checkpoint, from which a run can resume: exactly, or without environments in new
        episodes."""
        save_checkpoint(
            Path(run_dir) / "checkpoints",
            agent=self.name,
            config=self.config,
            counters=self.counters(),
            tensors={
                "net": self.agent.net.state_dict(),
                "target": self.learner.target.state_dict(),
                "optimiser": optimiser_tensors(self.learner.optimiser),
            },
            arrays=self.replay.arrays(),
            state={
                "rng": seeding.rng_state(),
                "replay_rng": generator_state(self.rng),
                "recent_returns": list(self.recent_returns),
                "latest": {name: float(value) for name, value in self.latest.items()},
                **({} if envs is None else {"envs": saved_states(envs)}),
            },
        )

    def restore(self, saved: Checkpoint, envs: VectorEnv | None) -> NDArray[np.uint8] | None:
        """Restores the run from a checkpoint. Returns the observations to act on, or as `begin`
        does if the environments' states are not known, or actors play."""
        config = self.config
        saved.check_run("replay_rng")
        self.agent.load_weights(saved)
        check_seen_alike(saved, config)
        saved.check_same(config)
        self.learner.target.load_state_dict(saved.tensors["target"])
        restore_optimiser(self.learner.optimiser, saved.tensors["optimiser"])
        try:
            self.replay.restore(saved.arrays, alpha=saved.setting("priority_alpha"))
        except ValueError as error:
            raise UserError(
                f"cannot resume from {saved.folder}: {error}; resume with the same"
            ) from None
        for name in self.counters():
            setattr(self, name, saved.counters[name])
        state = saved.state_as(SavedState)
        self.recent_returns.clear()
        self.recent_returns.extend(state.recent_returns)
        self.latest = state.latest
        set_generator_state(self.rng, state.replay_rng)
        obs = None
        if envs is not None and state.envs:  # remote levels have no states
            obs = envs.restore_states(state.envs)
        else:
            print(
                f"{self.name}: resuming with the saved nets and replay; new episodes begin",
                file=sys.stderr,
            )
        seeding.set_rng_state(state.rng)
        return self.begin(envs) if obs is None else obs
