"""The acting side of JERK: replay the best sequence of the level, be saved, be loaded."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from experiment.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from experiment.config import from_dict
from experiment.errors import UserError
from jerk.config import JerkConfig
from jerk.learner import bounds, find_moves, is_left, locate
from jerk.memory import Sequence, Sequences
from jerk.policy import (
    Embedder,
    Policy,
    check_asked,
    check_fits,
    make_policy,
    policy_state,
    saved_policy,
)


def make_sequences(config: JerkConfig) -> Sequences:
    """An empty memory of sequences that chooses as the config says."""
    if config.choice == "mean":
        return Sequences(config.sequences)

    def bound(sequence: Sequence, *, upper: bool) -> float:
        both = bounds(sequence.returns, width=config.bound_width, spread=config.bound_spread)
        return both[upper] - config.change_cost * sequence.changes

    return Sequences(
        config.sequences, score=partial(bound, upper=False), promise=partial(bound, upper=True)
    )


@dataclass
class Row:
    """What one row of observations replays, and where it is."""

    sequence: Sequence | None = None
    pointer: int = 0
    steps: int = 0
    """Played since the episode began."""
    lost: int = 0
    start: str = ""
    """The level at whose first observation it stands."""


class JerkAgent:
    """Recognises a level by its first observation and replays its best sequence.

    In a closed loop where the config says so, as the search replays, but for the memory. After the
    sequence, and on a level that it does not recognise, the policy acts; without one that knows
    something, it runs to the right.
    """

    def __init__(self, config: JerkConfig, *, device: str = "cpu") -> None:
        self.config, self.device = config, device
        self.sequences = make_sequences(config)
        self.moves = find_moves(config.actions)
        self.policy: Policy | None = None
        self.policy_knows = False
        """Whether the policy was trained, here or before: another one walks nowhere."""
        self.given: dict[str, torch.Tensor] = {}
        """The net of a Rainbow as it came, without what it learned from JERK's runs: that makes
        scores of its values, and a Rainbow could not go on with these."""
        self.embedder: Embedder | None = None
        if config.embeds and config.embed == "frames":
            self.embedder = Embedder(None, config=config, device=device)
        self.rows: list[Row] = []

    def take_policy(self, policy: Policy) -> None:
        """Let this policy act and, where the config says so, embed by its encoder as it is."""
        self.policy = policy
        if self.config.embeds and self.config.embed == "policy":
            encoder: Any = policy.net.encoder
            self.embedder = Embedder(encoder, config=self.config, device=self.device)

    def able_policy(self) -> Policy | None:
        """The policy, as soon as it knows something."""
        return self.policy if self.policy_knows else None

    def act(
        self, obs: NDArray[np.uint8], *, starts: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """obs uint8 [N,C,H,W] -> actions int64 [N]. It remembers where each row is.

        starts: rows that begin an episode; without them, those at a level's first observation do.
        """
        if len(self.rows) != len(obs):
            self.rows = [Row() for _ in obs]
        actions = np.full(len(obs), self.moves.right, np.int64)
        if (policy := self.able_policy()) is not None:
            actions = policy.act(obs)
        seen = self.embedder(obs) if self.embedder is not None else None
        for index, image in enumerate(obs):
            if starts is not None and starts[index]:
                self.rows[index] = Row()
            level = self.recognise(image) if starts is None or starts[index] else ""
            if level and level != self.rows[index].start:  # not where it only stands and waits
                self.rows[index] = Row(self.sequences.best(level))
            self.rows[index].start = level
            action = self.replayed(self.rows[index], None if seen is None else seen[index])
            if action is not None:
                actions[index] = action
        return actions

    def recognise(self, image: NDArray[np.uint8]) -> str:
        """The level whose first observation this is, or nothing."""
        for level, start in self.sequences.starts.items():
            if np.array_equal(image, start):
                return level
        return ""

    def replayed(self, row: Row, seen: NDArray[np.float32] | None) -> int | None:
        """The next action of a row's sequence; None where there is none."""
        sequence, config = row.sequence, self.config
        if sequence is None or row.pointer >= len(sequence.actions):
            return None
        if is_left(row.steps, row.pointer, row.lost, length=len(sequence.actions), config=config):
            row.sequence = None
            return None
        at: int | None = row.pointer
        if config.closed_loop and sequence.embeddings is not None and seen is not None:
            at = locate(
                sequence.embeddings,
                seen,
                expected=row.pointer,
                window=config.window + row.lost,
                limit=config.match_steps,
            )
        row.steps += 1
        row.lost = 0 if at is not None else row.lost + 1
        row.pointer = (row.pointer if at is None else at) + 1
        return int(sequence.actions[row.pointer - 1])

    def tensors(self) -> dict[str, dict[str, torch.Tensor]]:
        """Nets for a checkpoint: the policy's, as it came too, and the encoder that embeds."""
        found = {}
        if self.policy is not None:
            found["net"] = self.policy.net.state_dict()
        if self.embedder is not None and self.embedder.encoder is not None:
            found["embedder"] = self.embedder.encoder.state_dict()
        if self.given:
            found["given"] = self.given
        return found

    def state(self) -> dict[str, Any]:
        """Everything else of it, for msgpack."""
        return {
            "sequences": self.sequences.save(),
            "policy": policy_state(self.policy),
            "policy_knows": self.policy_knows,
        }

    def save(self, folder: Path | str) -> None:
        """Write it without a run's state, as a checkpoint that `load` reads."""
        save_checkpoint(
            Path(folder),
            agent="jerk",
            config=self.config,
            counters={"env_steps": 0},
            tensors=self.tensors(),
            state=self.state(),
        )

    @classmethod
    def load(cls, folder: Path | str, *, device: str = "cpu") -> "JerkAgent":
        """The agent in a checkpoint folder. UserError where it is cut off or another agent's."""
        saved = load_checkpoint(folder).of("jerk")
        agent = cls(from_dict(JerkConfig, saved.config), device=device)
        agent.restore(saved)
        return agent

    def restore(self, saved: Checkpoint) -> None:
        """Take a checkpoint's sequences and policy. UserError where it is another agent's."""
        check_whole(saved)
        names = ("image_height", "image_width", "frame_stack", "frame_skip", "colour")
        for name in ("actions", "embed", "embedding", *names):
            theirs, ours = saved.config[name], getattr(self.config, name)
            if theirs > ours if name == "actions" else theirs != ours:
                flag = name.replace("_", "-")
                raise UserError(
                    f"{saved.folder} has {name} {theirs}, this run {ours}; give --{flag} {theirs}"
                )
        self.sequences.restore(saved.state["sequences"])
        policy = saved_policy(saved.state["policy"], saved.tensors, device=self.device)
        if policy is not None:
            self.take_policy(policy)
            self.policy_knows, self.given = of_policy(saved)
        if "embedder" in saved.tensors and self.embedder is not None and self.embedder.encoder:
            self.embedder.encoder.load_state_dict(saved.tensors["embedder"])

    def start_from(self, init: Path | str | None) -> None:
        """Begin with what a checkpoint has: of JERK everything, but for a policy that the config
        names; of another agent its policy. UserError: these do not go together."""
        saved, source = load_checkpoint(init) if init else None, self.config.policy
        named = source not in ("", "new")
        if saved is not None and saved.agent == "jerk":
            self.restore(saved)
            self.sequences.forget_recordings()
            if named and self.embedder is not None and self.embedder.encoder is not None:
                raise UserError(
                    f"what {init} remembers was embedded by its own policy, and {source} would see "
                    "it otherwise; leave out --policy or --init"
                )
        elif saved is not None and named:
            raise UserError(
                f"{init} and {source} both give a policy; leave out --policy, or --init (which "
                "--checkpoint means too)"
            )
        elif saved is not None:
            source = str(saved.folder)
        if source and (named or self.policy is None):
            self.take_policy(make_policy(source, self.config, device=self.device))
            self.policy_knows, self.given = False, {}
            if source != "new":
                self.policy_knows, self.given = of_policy(load_checkpoint(source))
                check_asked(source, self.config)
        if self.policy is not None:
            check_fits(self.policy, self.config, trained=self.policy_knows)
        elif self.config.needs_policy:
            raise UserError(
                "learn, policy_share and embed need a policy: give --policy CHECKPOINT, or new"
            )


def of_policy(saved: Checkpoint) -> tuple[bool, dict[str, torch.Tensor]]:
    """Whether a checkpoint's policy knows something, and its net as it came, where a JERK has
    taught a Rainbow since."""
    return saved.state.get("policy_knows", True), dict(saved.tensors.get("given", {}))


def check_whole(saved: Checkpoint) -> None:
    """UserError: a checkpoint is none of a JERK, or only the runs it wrote for Rainbow."""
    if "sequences" not in saved.of("jerk").state:
        raise UserError(
            f"{saved.folder} holds a JERK's runs for rainbow.train; give the run it belongs to"
        )
