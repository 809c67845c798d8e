"""Runs that were played while an entry's score was interrupted, so that `score` resumes."""

import contextlib
from array import array
from pathlib import Path

import msgspec

from retro_agents.contest.leaderboard.play import Played
from retro_agents.ground.files import drafted

FOLDER = "unfinished"


class Saved(msgspec.Struct):
    """A run. inputs: SHA-256 of all that it depends on."""

    inputs: list[str]
    masks: bytes
    seconds: float
    cpu_seconds: float
    memory: int


def remember(path: Path, played: Played, *, inputs: list[str]) -> None:
    """Store a run. Raises UserError if it cannot be written."""
    saved = Saved(inputs, played.masks.tobytes(), played.seconds, played.cpu_seconds, played.memory)
    with drafted(path) as draft:
        draft.write_bytes(msgspec.msgpack.encode(saved))


def recall(path: Path, *, inputs: list[str]) -> Played | None:
    """A run that was stored for the same inputs; None if there is none."""
    with contextlib.suppress(OSError, msgspec.MsgspecError, ValueError):
        saved = msgspec.msgpack.decode(path.read_bytes(), type=Saved)
        if saved.inputs == inputs:
            masks = array("H", saved.masks)
            return Played(masks, saved.seconds, saved.cpu_seconds, saved.memory)
    return None
