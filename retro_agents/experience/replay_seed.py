"""What a replay takes over from another run's checkpoint, and whether it may."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.envs import EnvSettings
from retro_agents.experience.episodes import Episode, check_played_alike, episodes_of
from retro_agents.experience.replay import (
    FINAL,
    GOES_ON,
    MAX_AGE,
    SLOT_FIELDS,
    TERMINATED,
    TRUNCATED,
    Floats,
    Replay,
)
from retro_agents.ground.arrays import pieces, whole
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import Checkpoint
from retro_agents.run.config import flat, to_dict
from retro_agents.run.fields import fields, flag_with


def check_made_alike(saved: Checkpoint, ours: EnvSettings, *, instead: str) -> None:
    """Raises UserError if a checkpoint's transitions have other rewards or another frame skip than
    this run's. instead: what else to do."""
    made, spec = flat(saved.config), ours.spec()
    skip = {"frame_skip": spec.frame_skip} if "frame_skip" in made else {}  # Procgen has none
    for name, value in {**spec.rewards, **skip}.items():
        theirs = saved.setting(name)
        if theirs != value:
            raise UserError(
                f"{saved.folder} holds transitions that were made with {name} {theirs}, and this "
                f"run has {value}; give {flag_with(name, theirs)}, or {instead}"
            )


def check_seen_alike(saved: Checkpoint, config: Any) -> None:
    """Raises UserError if a run would be resumed with other rewards or observations than its
    checkpoint's."""
    check_made_alike(saved, config.env, instead="begin anew")
    theirs, ours = saved.config_as(type(config)).env, config.env
    seen = [(spec.observation_shape, spec.steps_back) for spec in (theirs.spec(), ours.spec())]
    if seen[0] != seen[1]:
        before, now = to_dict(theirs), to_dict(ours)
        shapes = [name for name in fields(theirs, "shape") if before[name] != now.get(name)]
        flags = " ".join(flag_with(name, before[name]) for name in shapes)
        raise UserError(f"the saved run has other observations: resume it with {flags}")


def seed_replay(replay: Replay, saved: Checkpoint, count: int, *, ours: EnvSettings) -> int:
    """Put the newest `count` transitions of a checkpoint into a replay that is empty -> how many.

    They are those of its recorded episodes, else of its replay; none where it has neither.
    Raises UserError as `check_made_alike` does, or if they do not fit.
    """
    episodes = episodes_of(saved)
    check_played_alike(episodes, ours.spec(), source=saved.folder)
    try:
        if count and episodes:
            return seed(replay, as_replay(episodes, ours.learning_rewards), count)
        if count and "frames" in saved.arrays:
            check_made_alike(saved, ours, instead="--init-replay 0 for the weights alone")
            return seed(replay, saved.arrays, count, alpha=saved.setting("priority_alpha"))
    except ValueError as error:
        raise UserError(f"cannot seed the replay from {saved.folder}: {error}") from None
    return 0


def seed(
    replay: Replay, saved: Mapping[str, Any], count: int, *, alpha: float | None = None
) -> int:
    """Take over the newest `count` slots of another replay. Its rings are dealt out over this
    one's, each in several pieces if they are fewer.

    saved: what its `arrays` gave. alpha: its exponent, if it is another. Returns how many were
    taken. Call it before the first `add`.
    """
    ours = replay.frames.shape[1:]
    theirs = next((rows.shape[1:] for rows in pieces(saved, "frames")), ours)
    if theirs != ours:
        raise ValueError(
            f"it holds frames of shape {theirs}, not {ours}; give settings of the image that fit"
        )
    replay.max_priority = replay.taken_over(saved["max_priority"], alpha).item()
    ends = whole(saved, "ends")
    priorities = replay.taken_over(whole(saved, "priorities"), alpha)
    count = min(count, replay.slots * replay.num_envs)
    shares = np.diff(np.linspace(0, count, len(saved["filled"]) + 1).astype(int))
    ring_starts = np.cumsum(saved["filled"]) - saved["filled"]
    portions = -(-replay.num_envs // len(shares))  # pieces of a ring: each ring here gets some
    sources, targets = [], []
    for ring, share in enumerate(shares):
        filled, head = int(saved["filled"][ring]), int(saved["heads"][ring])
        oldest_first = (np.arange(filled) + head) % filled  # head == filled while not yet full
        newest = ring_starts[ring] + oldest_first[max(0, filled - int(share)) :]
        # The last ones wait for their n steps, which are complete with the cut behind them.
        settled = (priorities[newest] > 0.0) | (ends[newest] == FINAL)
        waiting = newest[~np.logical_or.accumulate(settled[::-1])[::-1]]
        priorities[waiting] = replay.max_priority
        for piece, slots in enumerate(np.array_split(newest, portions)):
            env = (ring * portions + piece) % replay.num_envs
            room = replay.slots - int(replay.filled[env])
            source = slots[max(0, len(slots) - room) :]
            target = replay.append(env, ends[source], priorities[source])
            sources.append(source[: len(target)])
            targets.append(target)
    for name in SLOT_FIELDS:
        if name != "ends":
            replay.fill(saved, name, np.concatenate(sources), np.concatenate(targets))
    return replay.size


def as_replay(
    episodes: Sequence[Episode], learning_rewards: Callable[[Floats], NDArray[np.floating]]
) -> dict[str, Any]:
    """Recorded episodes as the arrays of a replay of one ring, in which the last are the newest.

    learning_rewards: raw rewards [T] of an episode -> what is learned from.
    """
    parts: dict[str, list[Any]] = {name: [] for name in SLOT_FIELDS}
    for episode in episodes:
        steps = len(episode.actions)
        if episode.frames is None:
            raise ValueError(
                "there are episodes without frames; record them with `retro-agents record`"
            )
        last = TERMINATED if episode.terminated else TRUNCATED
        parts["frames"].append(episode.frames)
        parts["actions"].append(np.append(episode.actions, 0))
        parts["rewards"].append(np.append(learning_rewards(episode.rewards), 0.0))
        parts["ends"].append([GOES_ON] * (steps - 1) + [last, FINAL])
        parts["ages"].append(np.minimum(np.arange(steps + 1), MAX_AGE))
    ring: dict[str, Any] = {name: np.concatenate(rows) for name, rows in parts.items()}
    ring["priorities"] = (ring["ends"] != FINAL).astype(float)
    ring["filled"] = ring["heads"] = np.array([len(ring["ends"])])
    return {**ring, "max_priority": np.ones(1)}
