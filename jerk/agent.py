"""The acting side of JERK: replays the level's best sequence, saves and loads."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from jerk.config import JerkConfig
from jerk.embedding import Embedder, FrameEmbedder, NetEmbedder
from jerk.episode import Plan
from jerk.learner import find_moves
from jerk.memory import SequenceMemory
from jerk.policy import BackingPolicy, policy_of, taken_policy
from lsh_memory import EpisodicMemory, MemoryConfig
from retro_agents.contract.policy import Actions, Flags, Images, Play, one_or_many
from retro_agents.ground.errors import UserError
from retro_agents.run.agents import check_alike
from retro_agents.run.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from retro_agents.run.config import from_dict
from retro_agents.run.distrust import reading
from retro_agents.run.fields import flag_with

SEQUENCES = 100
"""Sequences remembered per level; the worst is removed for a new one."""
MEMORY_PREFIX = "memory-"
MEMORY_CAPACITY = 100_000
"""Capacity of the memory, in steps."""


@dataclass
class ReplayRow:
    """What one row of observations is replaying."""

    plan: Plan = field(default_factory=Plan)
    start: str = ""
    """The level whose first observation the row saw last; "" if it saw another one."""


class JerkAgent:
    """Recognises a level by its first observation and replays its best sequence.

    After the sequence, and on a level that it does not recognise, the policy acts; without one, it
    runs to the right.
    """

    def __init__(self, config: JerkConfig, *, device: str = "cpu") -> None:
        self.config, self.device = config, device
        self.sequences = SequenceMemory(SEQUENCES)
        self.spec = config.env.spec()
        self.moves = find_moves(self.spec.action_names)
        self.policy: BackingPolicy | None = None
        self.embedder: Embedder | None = None
        self.memory: EpisodicMemory | None = None
        if config.memory_share > 0.0 and config.memory_key == "frames":
            self.remember_by(FrameEmbedder(config))
        self.rows: list[ReplayRow] = []

    @one_or_many
    def act(self, obs: Images, *, play: Play | None = None, starts: Flags | None = None) -> Actions:
        """obs uint8 [N,C,H,W] -> actions int64 [N]. It remembers each row's position.

        play: how the policy plays; None: as its own checkpoint says. Raises UserError for anything
        but best if there is no policy. starts: rows that begin an episode; without them, rows at a
        level's first observation do.
        """
        if len(self.rows) != len(obs):
            self.rows = [ReplayRow() for _ in obs]
        actions = np.full(len(obs), self.moves.right, np.int64)
        if self.policy is not None:
            actions = self.policy.actor.act(obs, play=play)
        elif play not in (None, "best"):
            raise UserError(
                f"this agent replays sequences and has no policy for --play {play}: leave out "
                "--play; jerk.train --write-replay records what it plays"
            )
        for index, image in enumerate(obs):
            if starts is not None and starts[index]:
                self.rows[index] = ReplayRow()
            level = self.recognise(image) if starts is None or starts[index] else ""
            if level and level != self.rows[index].start:  # not while it waits at the start
                self.rows[index] = ReplayRow(Plan.of(self.sequences.best(level)))
            row = self.rows[index]
            row.start = level
            if (action := row.plan.next_action()) is not None:
                actions[index] = action
        return actions

    def remember_by(self, embedder: Embedder) -> EpisodicMemory:
        """Begin an empty episodic memory with that embedder's embeddings as keys. Returns the
        memory."""
        config, self.embedder = self.config, embedder
        settings = MemoryConfig(
            embedder.size,
            actions=self.spec.actions,
            capacity=MEMORY_CAPACITY,
            merge_above=config.memory_merge_above,
            backend="tables" if config.memory_tables else "scan",
        )
        self.memory = EpisodicMemory(settings)
        return self.memory

    def take(self, policy: BackingPolicy, *, keys: Mapping[str, torch.Tensor] | None) -> None:
        """Use a policy to play, and if a net computes the memory's keys, begin an empty memory.
        keys: weights of the net that computes them, if not the policy's. If the policy learns, a
        copy of it as it is now computes them. Raises UserError if it should learn but cannot."""
        self.policy, config, actor = policy, self.config, policy.actor
        if config.learn_every and not actor.logits:
            raise UserError(
                f"--learn-every is for policies with logits, not for {policy.package}'s values: "
                "leave it out; rainbow.train --init RUN learns from what the search found"
            )
        if config.memory_share > 0.0 and config.memory_key != "frames":
            if config.learn_every or keys is not None:
                actor = copy.deepcopy(actor)
            if keys is not None:
                actor.net.load_state_dict(keys)
            self.remember_by(NetEmbedder(actor, hidden=config.memory_key == "hidden"))

    def recognise(self, image: NDArray[np.uint8]) -> str:
        """The level whose first observation this is; "" if it is none."""
        for level, start in self.sequences.starts.items():
            if np.array_equal(image, start):
                return level
        return ""

    def tensors(self) -> dict[str, Mapping[str, torch.Tensor]]:
        """Nets for a checkpoint: the policy's, and the one that computes keys, if it is another."""
        if self.policy is None:
            return {}
        nets: dict[str, Mapping[str, torch.Tensor]] = {"net": self.policy.actor.net.state_dict()}
        keyed = self.embedder
        if isinstance(keyed, NetEmbedder) and keyed.actor is not self.policy.actor:
            nets["keys"] = keyed.actor.net.state_dict()
        return nets

    def state(self) -> dict[str, Any]:
        """The rest of the agent, for msgpack."""
        policy = self.policy and {"package": self.policy.package, "config": self.policy.config}
        return {"sequences": self.sequences.save(), "policy": policy}

    def save(self, folder: Path | str) -> None:
        """Write the agent without a run's state, as a checkpoint that `load` reads."""
        tensors, state = self.tensors(), self.state()
        save_checkpoint(folder, agent="jerk", config=self.config, tensors=tensors, state=state)

    def restore(self, saved: Checkpoint, *, policy: bool = True) -> None:
        """Restore a checkpoint's sequences and, unless another one replaces it, its policy. Raises
        UserError if they do not fit."""
        made = saved.of("jerk").config_as(JerkConfig)
        check_alike(made.env, self.config.env, source=saved.folder, wider=True)
        self.sequences.restore(saved.state["sequences"])
        if policy and (found := policy_of(saved, device=self.device)) is not None:
            self.take(found, keys=saved.tensors.get("keys"))

    def memory_arrays(self) -> dict[str, NDArray]:
        """The episodic memory for a run's checkpoint, as named arrays."""
        arrays = {} if self.memory is None else self.memory.arrays()
        return {MEMORY_PREFIX + name: array for name, array in arrays.items()}

    def restore_memory(self, saved: Checkpoint) -> None:
        """Restore a checkpoint's episodic memory, if both have one."""
        names = [name for name in saved.arrays if name.startswith(MEMORY_PREFIX)]
        if self.embedder is None:
            return
        memory = self.remember_by(self.embedder)  # drops what a damaged checkpoint left
        if not names:
            return
        theirs = saved.config_as(JerkConfig).memory_key
        if theirs != self.config.memory_key:
            raise UserError(
                f"{saved.folder} has a memory by {theirs}: give --memory-key {theirs}, or "
                "--memory-share 0"
            )
        arrays = {name.removeprefix(MEMORY_PREFIX): saved.arrays[name] for name in names}
        try:
            memory.restore(arrays)
        except ValueError as error:
            raise UserError(f"cannot take the memory of {saved.folder}: {error}") from None

    def start_from(self, init: Path | str | None) -> None:
        """Start from a checkpoint: of JERK, all but a policy that the config replaces; of another
        agent, its policy. Raises UserError if the two contradict each other."""
        saved, source = load_checkpoint(init) if init else None, self.config.policy
        named = load_checkpoint(source) if source else None
        if saved is not None and saved.agent == "jerk":
            with reading(saved.folder):
                self.restore(saved, policy=named is None)
                self.restore_memory(saved)
                self.sequences.forget_recordings()
        elif saved is not None and named is not None:
            raise UserError(
                f"--init {init} and --policy {source} both give a policy: give "
                f"{flag_with('policy', init)} without --init, or in a contest --policy '' beside "
                "--checkpoint"
            )
        elif saved is not None:
            named = saved
        if named is not None:
            with reading(named.folder):
                self.take(taken_policy(named, self.config, device=self.device), keys=None)
        if self.policy is not None:
            theirs, ours = self.policy.actor.config.env.spec().actions, self.spec.actions
            if self.config.write_replay and theirs != ours:  # the policy learns from the runs later
                raise UserError(
                    f"the policy has {theirs} actions and cannot learn from runs of {ours}; "
                    "give the same --actions, or --no-write-replay"
                )
        elif self.config.needs_policy:
            raise UserError(
                "--policy-share, --policy-replays, --learn-every and --memory-key need a policy: "
                "give --policy CHECKPOINT"
            )


def build(
    config: Mapping[str, Any],
    weights: Mapping[str, torch.Tensor] | None = None,
    *,
    device: str = "cpu",
) -> JerkAgent:
    """An agent with a checkpoint's config that knows no sequences. Raises UserError if there are
    weights, because JERK has no net of its own."""
    if weights is not None:
        raise UserError("JERK has no net of its own; load its checkpoint instead")
    return JerkAgent(from_dict(JerkConfig, config), device=device)


def load(folder: Path | str, *, device: str = "cpu") -> JerkAgent:
    """The agent in a checkpoint folder. Raises UserError if it is damaged, or another agent's."""
    saved = load_checkpoint(folder).of("jerk")
    agent = JerkAgent(saved.config_as(JerkConfig), device=device)
    agent.restore(saved)
    return agent
