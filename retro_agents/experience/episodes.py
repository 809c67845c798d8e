"""Recorded episodes: one format that any agent writes and reads, in a checkpoint's folder.

step-000400000/
    episode-frames.npy.zst   of the episodes that have frames, one after the other
    episode-actions.npy.zst  of all episodes, as are episode-rewards
    state.msgpack            under "episodes": the other fields of each, in the same order
    net.safetensors, …       of the agent that continues from them, if there is one
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.envs import EnvSpec
from retro_agents.ground.arrays import Rows
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import complete_checkpoints
from retro_agents.run.checkpoint import NO_AGENT, Checkpoint, save_checkpoint

REPLAY = "replay"
"""The folder of a run in which it leaves episodes for others."""
PLAIN = ("level", "terminated", "action_names", "frame_skip")
"""Fields of an episode that are not arrays."""


@final
@dataclass(frozen=True, eq=False)
class Episode:
    """The first T steps of an episode, or all of them.

    actions uint8 [T]; rewards float64 [T], the game's own, unscaled; frames uint8 [T+1,c,H,W]: the
    newest frame of the observation before each action, and of the one after the last; None if only
    the actions are known.
    """

    level: str
    actions: NDArray[np.uint8]
    rewards: NDArray[np.float64]
    terminated: bool
    """Whether the game ended with the last action."""
    action_names: tuple[str, ...]
    frame_skip: int
    """Game frames per action."""
    frames: NDArray[np.uint8] | None = None

    def __post_init__(self) -> None:
        steps = len(self.actions)
        assert steps == len(self.rewards) > 0, "an episode has a reward per action, one or more"
        assert self.frames is None or len(self.frames) == steps + 1, "a frame more than actions"

    @property
    def total_reward(self) -> float:
        """The sum of rewards."""
        return float(self.rewards.sum())


def pack(episodes: Sequence[Episode]) -> tuple[dict[str, Rows], list[dict[str, Any]]]:
    """Converts episodes to a checkpoint's arrays, and each one's other fields, for `unpack`."""
    arrays: dict[str, Rows] = {}
    if episodes:
        arrays["episode-actions"] = [np.asarray(one.actions, np.uint8) for one in episodes]
        arrays["episode-rewards"] = [np.asarray(one.rewards, np.float64) for one in episodes]
    if framed := [episode.frames for episode in episodes if episode.frames is not None]:
        assert len({frames.shape[1:] for frames in framed}) == 1, "frames of one shape"
        arrays["episode-frames"] = framed
    facts: list[dict[str, Any]] = [
        {name: getattr(episode, name) for name in PLAIN}
        | {"steps": len(episode.actions), "framed": episode.frames is not None}
        for episode in episodes
    ]
    return arrays, facts


def unpack(arrays: Mapping[str, NDArray], facts: Sequence[Mapping[str, Any]]) -> list[Episode]:
    """Converts the results of `pack` back to episodes."""
    names = ("episode-actions", "episode-rewards", "episode-frames")
    stored = {name: arrays[name] for name in names if name in arrays}  # reads each file once
    episodes, step, frame = [], 0, 0
    for fact in facts:
        steps, frames = slice(step, step + fact["steps"]), None
        step = steps.stop
        if fact["framed"]:
            frames = stored["episode-frames"][frame : frame + fact["steps"] + 1]
            frame += len(frames)
        plain = {name: fact[name] for name in PLAIN} | {"action_names": tuple(fact["action_names"])}
        actions, rewards = stored["episode-actions"][steps], stored["episode-rewards"][steps]
        episodes.append(Episode(actions=actions, rewards=rewards, frames=frames, **plain))
    return episodes


def write_episodes(
    folder: Path | str,
    episodes: Sequence[Episode],
    *,
    env_steps: int = 0,
    agent: str = NO_AGENT,
    config: Mapping[str, Any] | None = None,
    net: Mapping[str, Any] | None = None,
) -> Path:
    """Write episodes, the most valuable last: a reader without room for all takes the last ones.

    agent, config, net: of an agent that continues from them; the folder is also its checkpoint.
    Raises UserError if it cannot be written.
    """
    arrays, facts = pack(episodes)
    return save_checkpoint(
        Path(folder),
        agent=agent,
        config=dict(config or {}),
        counters={"env_steps": env_steps},
        tensors={} if net is None else {"net": net},
        arrays=arrays,
        state={"episodes": facts},
        keep=1,
    )


def episodes_of(saved: Checkpoint) -> list[Episode]:
    """The episodes in a checkpoint's folder; none in a plain checkpoint."""
    return unpack(saved.arrays, saved.state.get("episodes", []))


def left_by(run: Path | str) -> Path:
    """The episodes that a run left for others, if it left any; otherwise the path itself. run: its
    folder, or one of its checkpoints, as a contest names it."""
    path = Path(run)
    folder = (path.parents[1] if path.parent.name == "checkpoints" else path) / REPLAY
    return folder if complete_checkpoints(folder) else path


def check_played_alike(episodes: Sequence[Episode], spec: EnvSpec, *, source: Path | str) -> None:
    """Raises UserError if an episode's action names or frame skip differ from this run's, or if it
    has an action without a name."""
    for episode in episodes:
        if (most := int(episode.actions.max())) >= len(episode.action_names):
            raise UserError(
                f"{source} holds action {most} of an episode with {len(episode.action_names)} "
                "actions: it is damaged, record it again"
            )
        names = spec.action_names[: len(episode.action_names)]
        if (names, spec.frame_skip) != (episode.action_names, episode.frame_skip):
            raise UserError(
                f"{source} holds episodes of frame_skip {episode.frame_skip} and the actions "
                f"{', '.join(episode.action_names)}; this run has {spec.frame_skip} and "
                f"{', '.join(spec.action_names)}: play with the same"
            )
