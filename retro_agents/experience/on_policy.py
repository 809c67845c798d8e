"""All that changes during a run that a `Collector` plays, and how it is saved and restored."""

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from retro_agents.contract.envs import VectorEnv, saved_states
from retro_agents.experience.collector import Collector
from retro_agents.experience.replay_seed import check_seen_alike
from retro_agents.experience.values import rollout_advantages
from retro_agents.ground.errors import UserError
from retro_agents.ground.generators import set_generator_state
from retro_agents.ground.seeding import rng_state, set_rng_state
from retro_agents.run.checkpoint import Checkpoint, save_checkpoint
from retro_agents.run.fields import NOTHING
from retro_agents.run.optimiser import optimiser_tensors, restore_optimiser
from retro_agents.run.run import RunState


class OnPolicy(RunState):
    """The base of a `Training` that learns from whole rollouts. It has a `collector`; the subclass
    makes the `learner`, which has an `optimiser`."""

    learner: Any

    def __init__(self, agent: Any, num_envs: int, **settings: Any) -> None:
        """settings: of the `Collector`: return_gamma, and what is not its default."""
        self.agent, self.config = agent, agent.config
        self.updates = 0
        self.collector = Collector(
            agent,
            num_envs,
            rollout_steps=self.config.rollout_steps,
            act_parts=self.config.act_parts,
            **settings,
        )
        self.group = self.collector.group
        self.rank, self.size = self.group.rank, self.group.size
        if self.size > 1 and any(True for _ in agent.net.buffers()):
            raise UserError(
                "--encoder-parts batch-norm has running moments, which processes do not share: "
                "start one process"
            )
        self.recent_returns = self.collector.recent_returns

    def any(self, here: bool) -> bool:
        """Returns whether `here` is true in any process."""
        return self.group.any(here)

    @property
    def env_steps(self) -> int:
        """The agent steps that all processes have taken."""
        return self.collector.env_steps

    @property
    def clock(self) -> int:
        """The agent steps of whole rollouts."""
        return self.env_steps - self.collector.rollout.filled * self.collector.num_envs * self.size

    @property
    def learns_from(self) -> str:
        """What the first update needs, while it has not been made; otherwise ""."""
        steps = self.config.rollout_steps * self.collector.num_envs * self.size
        return "" if self.updates else f"a rollout of {steps:,} steps"

    def start(self, init: Path | str | None, envs: VectorEnv) -> NDArray[np.uint8]:
        """Starts a run, with a checkpoint's weights if one is given. Returns observations."""
        if init:
            self.agent.start_from(init)
        obs, _ = envs.reset(seed=self.collector.env_seeds())
        return obs

    def advantages(
        self, obs: NDArray[np.uint8], rewards: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float]:
        """The rollout's advantages [T,N], and the explained share of its returns' variance. obs:
        after the rollout. rewards: [T,N]."""
        gamma, lam = self.config.gamma, self.config.lam
        return rollout_advantages(self.collector, obs, rewards, gamma=gamma, lam=lam)

    def save(
        self,
        run_dir: Path | str,
        envs: VectorEnv,
        *,
        tensors: Mapping[str, Mapping[str, Tensor]] = NOTHING,
        arrays: Mapping[str, NDArray[Any]] = NOTHING,
        state: Mapping[str, Any] = NOTHING,
        rows: Mapping[str, list[Any]] = NOTHING,
        keep: int = 2,
    ) -> None:
        """Writes a checkpoint, from which any number of processes can resume exactly.

        tensors, arrays, state: the agent's own, the same in every process. rows: a value for each
        environment of this process. keep: the number of checkpoints that stay.
        """
        of_rollout, of_collector = contents_of(self.collector, envs, rows)
        if self.rank:
            return
        adam = optimiser_tensors(self.learner.optimiser)
        save_checkpoint(
            Path(run_dir) / "checkpoints",
            agent=self.name,
            config=self.config,
            keep=keep,
            counters={"env_steps": self.env_steps, "updates": self.updates},
            tensors={"net": self.agent.net.state_dict(), "optimiser": adam, **tensors},
            arrays={**of_rollout, **arrays},
            state={**state, "rng": rng_state(), **of_collector},
        )

    def restore(self, saved: Checkpoint, envs: VectorEnv) -> NDArray[np.uint8]:
        """Restores the run from a checkpoint. Returns the observations to act on."""
        check_run(saved, self.collector)
        self.agent.load_weights(saved)
        saved.check_same(self.config)
        self.restore_own(saved)
        restore_optimiser(self.learner.optimiser, saved.tensors["optimiser"])
        self.updates = saved.counters["updates"]
        return restore_run(saved, self.collector, envs)

    def restore_own(self, saved: Checkpoint) -> None:
        """Restores what only this agent saves."""


class SavedCollector(msgspec.Struct):
    """The state of a checkpoint that `contents_of` returns, and the run's generators."""

    envs: list[dict[str, Any]]
    rngs: list[str]
    starts: list[bool]
    state: list[list[float]]
    return_sums: list[float]
    return_moments: list[float]
    progress: list[float]
    finals: list[tuple[int, int, bytes]]
    recent_returns: list[float]
    rng: dict[str, Any]


def contents_of(
    collector: Collector, envs: VectorEnv, rows: Mapping[str, list[Any]] = NOTHING
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Returns the arrays and the state of a checkpoint for `restore_run`, of all processes'
    environments. rows: as in `OnPolicy.save`."""
    finals = [
        (t, collector.share.start + env, image.tobytes())
        for (t, env), image in collector.rollout.finals.items()
    ]
    own = {
        "envs": saved_states(envs),
        "rngs": collector.generator_states,
        "starts": collector.starts.tolist(),
        "state": collector.state.tolist(),
        "return_sums": collector.return_scale.sums.tolist(),
        "progress": collector.progress.tolist(),
        "finals": finals,
        **rows,
    }
    everyone = collector.group.gather((own, collector.rollout.arrays()))
    rollouts = [rollout for _, rollout in everyone]
    arrays = {name: np.concatenate([one[name] for one in rollouts]) for name in rollouts[0]}
    state = {name: list(chain(*(one[name] for one, _ in everyone))) for name in own}
    state["recent_returns"] = list(collector.recent_returns)
    state["return_moments"] = collector.return_scale.moments.tolist()
    return arrays, state


def check_run(saved: Checkpoint, collector: Collector) -> None:
    """Raises UserError if a checkpoint lacks what this run needs to resume."""
    saved.check_run("rngs")
    envs, num_envs = len(saved.state["rngs"]), collector.num_envs * collector.group.size
    if envs != num_envs:
        raise UserError(
            f"the saved run has {envs} environments, this one {num_envs}: resume with the same "
            "--num-envs"
        )
    if not saved.state["envs"]:
        raise UserError(
            f"{saved.folder} holds no states of its environments, which played elsewhere: begin "
            "anew with --init"
        )
    steps = saved.arrays.stored["rewards"].shape[1]
    whole = saved.setting("rollout_steps")
    if steps > 0 and whole != collector.rollout.steps:
        raise UserError(
            f"the saved run is {steps} steps into a rollout of {whole}, not of "
            f"{collector.rollout.steps}: resume with the same --rollout-steps"
        )
    check_seen_alike(saved, collector.policy.config)


def restore_run(saved: Checkpoint, collector: Collector, envs: VectorEnv) -> NDArray[np.uint8]:
    """Restores what `contents_of` returned. Returns the observations to act on. This is the last
    step of resuming: afterwards the generators draw as they did. Raises UserError as `check_run`
    does."""
    check_run(saved, collector)
    state, share = saved.state_as(SavedCollector), collector.share
    collector.env_steps = saved.counters["env_steps"]
    collector.recent_returns.clear()
    collector.recent_returns.extend(state.recent_returns)
    collector.return_scale.restore(state.return_moments, state.return_sums[share])
    rows = collector.starts.shape
    collector.progress = np.array(state.progress[share]).reshape(rows)
    collector.starts = np.array(state.starts[share], bool).reshape(rows)
    kept = torch.tensor(state.state[share], device=collector.device)
    collector.state = kept.reshape(collector.state.shape)
    for rng, drawn in zip(collector.rngs, state.rngs[share], strict=True):
        set_generator_state(rng, drawn)
    collector.begin_rollout()
    collector.rollout.restore(saved.arrays, state.finals, share)
    obs = envs.restore_states(state.envs[share])
    set_rng_state(state.rng)
    return obs
