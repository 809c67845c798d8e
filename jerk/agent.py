"""The acting side of JERK: replay the best sequence of the level, be saved, be loaded."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiment.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from experiment.config import from_dict
from experiment.errors import UserError
from jerk.config import JerkConfig
from jerk.learner import find_moves
from jerk.memory import Sequence, Sequences


class JerkAgent:
    """Recognises a level by its first observation and replays its best sequence.

    After the sequence, and where no level is recognised, it runs to the right.
    """

    def __init__(self, config: JerkConfig, sequences: Sequences) -> None:
        self.config, self.sequences = config, sequences
        self.moves = find_moves(config.actions)
        self.playing: list[tuple[Sequence | None, int]] = []
        """What each row replays, and the step it is at."""

    def act(self, obs: NDArray[np.uint8]) -> NDArray[np.int64]:
        """obs uint8 [N,C,H,W] -> actions int64 [N]. It remembers how far each row is."""
        if len(self.playing) != len(obs):
            self.playing = [(None, 0)] * len(obs)
        actions = np.full(len(obs), self.moves.right, np.int64)
        for row, image in enumerate(obs):
            sequence, pointer = self.playing[row]
            for level, start in self.sequences.starts.items():
                if np.array_equal(image, start):
                    sequence, pointer = self.sequences.best(level), 0
            if sequence is not None and pointer < len(sequence.actions):
                actions[row] = sequence.actions[pointer]
            self.playing[row] = sequence, pointer + 1
        return actions

    def save(self, folder: Path | str) -> None:
        """Write sequences and config, without a run's state, as a checkpoint that `load` reads."""
        save_checkpoint(
            Path(folder),
            agent="jerk",
            config=self.config,
            counters={"env_steps": 0},
            tensors={},
            state={"sequences": self.sequences.save()},
        )

    @classmethod
    def load(cls, folder: Path | str, *, device: str = "cpu") -> "JerkAgent":
        """The agent in a checkpoint folder. UserError where it is cut off or another agent's."""
        saved = load_checkpoint(folder)
        config = from_dict(JerkConfig, saved.config) if saved.agent == "jerk" else JerkConfig()
        agent = cls(config, Sequences(config.sequences))
        agent.restore(saved)
        return agent

    def restore(self, saved: Checkpoint) -> None:
        """Take a checkpoint's sequences. UserError where it is another agent's."""
        if saved.agent != "jerk":
            raise UserError(f"{saved.folder} is a checkpoint of {saved.agent!r}, not of jerk")
        theirs = saved.config["actions"]
        if theirs > self.config.actions:
            raise UserError(
                f"{saved.folder} holds sequences of {theirs} actions, this run has "
                f"{self.config.actions}; give --actions {theirs}"
            )
        self.sequences.restore(saved.state["sequences"])
