"""The interface of every environment: Gymnasium's vector interface, and what it leaves open."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from retro_agents.ground.errors import UserError
from retro_agents.ground.memory import check_memory

Infos = dict[str, Any]
Step = tuple[NDArray[np.uint8], NDArray[np.floating], NDArray[np.bool_], NDArray[np.bool_], Infos]
LARGEST_RETURN = 10_000.0
"""The most that the contest pays on a level: 9,000 for the way to its end, and up to 1,000 for
being quick."""
CONTEST_RETURNS = 0.0, LARGEST_RETURN
"""The bounds of a level's return."""
ROUNDING = 0.1
"""Returns of an episode that differ by less count as equal. An emulator's rewards have single
precision: where an agent moves back and forth, rounding errors add up, but not to this."""


@dataclass(frozen=True)
class EnvSpec:
    """The facts from which nets are built, and by which two agents are compatible or not."""

    family: str
    observation_shape: tuple[int, int, int]
    """[C, H, W]; the frames follow one another along C, the oldest first."""
    frame_stack: int
    """Frames in an observation."""
    action_names: tuple[str, ...]
    frame_skip: int
    """Game frames per agent step."""
    rewards: Mapping[str, Any]
    """The settings that define a reward, by name; transitions with other values are never mixed."""
    reward_scale: float = 1.0
    """Factor on the rewards of steps; the returns of episodes are reported without it."""
    steps_back: tuple[int, ...] = ()
    """The age of each frame in an observation, the oldest first; if empty, they are consecutive."""

    def __post_init__(self) -> None:
        in_a_row = tuple(range(self.frame_stack))[::-1]
        object.__setattr__(self, "steps_back", self.steps_back or in_a_row)
        assert len(self.steps_back) == self.frame_stack, "one number for each frame"

    @property
    def actions(self) -> int:
        """Number of actions."""
        return len(self.action_names)

    @property
    def channels(self) -> int:
        """Channels of one frame."""
        return self.observation_shape[0] // self.frame_stack


def check_room(spec: EnvSpec, num_envs: int, part: slice = slice(None), *, each: int) -> None:
    """Raises UserError if there is no memory for that part of so many environments. each: bytes
    that one takes, besides its observation."""
    rows = range(num_envs)[part]
    count, (_, height, width) = rows.stop - rows.start, spec.observation_shape
    check_memory(
        count * (prod(spec.observation_shape) + each),
        f"{count:,} environments with observations of {height} × {width} pixels",
        instead="give fewer --num-envs, or a smaller --image-height and --image-width",
    )


@runtime_checkable
class EnvSettings(Protocol):
    """A family's settings: a frozen dataclass, the section `env` of an agent's config."""

    def spec(self) -> EnvSpec:
        """The spec of environments with these settings."""
        ...

    def with_raw_rewards(self) -> Self:
        """Returns the same settings with the game's own rewards."""
        ...

    def learning_rewards(self, rewards: NDArray[np.floating]) -> NDArray[np.float32]:
        """Converts an episode's raw rewards, from its start, to the learning signal. [T] -> [T]."""
        ...


class VectorEnv(Protocol):
    """N environments that step together, with Gymnasium's SAME_STEP autoreset.

    When an episode ends in row i, its observation is the first of the next episode, and
    infos["final_obs"][i] is the last of the old one; `ended_episodes(infos)` reports the episode.
    """

    num_envs: int
    env_spec: EnvSpec
    levels: list[str]
    """The level that each row plays now."""
    saves_states: bool
    """Whether `save_states` and `restore_states` work."""
    resets_rows: bool
    """Whether `reset` can reset single rows, with levels and seeds of their own."""

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], Infos]:
        """Begins new episodes. Returns observations uint8 [N,C,H,W] of all rows, and infos of the
        episodes that the reset cuts, for `ended_episodes`.

        seed: one for all rows, or one per row. options, where `resets_rows`: "reset_mask" bool [N]
        names the rows to reset (Gymnasium's name); "levels" has a name per row, or None for the
        row's own next level.
        """
        ...

    def step_async(self, actions: NDArray[np.integer], part: slice | None = None) -> None:
        """Begins a step. actions: int [N], or those of the rows in `part` only."""
        ...

    def step_wait(self, part: slice | None = None) -> Step:
        """Ends the step. Returns observations [N,C,H,W], rewards, terminated, truncated [N] and
        infos; with `part`, too, infos are of all N rows."""
        ...

    def step(self, actions: NDArray[np.integer]) -> Step:
        """Calls `step_async`, then `step_wait`."""
        ...

    def save_states(self) -> list[dict[str, Any]]:
        """Returns each row's whole state, for msgpack. Works only where `saves_states`."""
        ...

    def restore_states(self, states: list[dict[str, Any]]) -> NDArray[np.uint8]:
        """Restores the states that an environment of the same settings saved. Returns observations.

        Raises UserError if the states do not fit.
        """
        ...

    def send_newest_frames(self) -> None:
        """From now on, `step_wait` may return only the newest frame of each observation."""
        ...

    def close(self) -> None:
        """Frees the environments' resources."""
        ...


class Expert(Protocol):
    """A player that reads more of a game's state than agents may, and names the best action."""

    def actions(self, envs: Any) -> NDArray[np.int64]:
        """Returns the best action now in each row of a vector environment [N], -1 where unknown.
        Must be called before every step."""
        ...


def check_spec(envs: VectorEnv) -> None:
    """Raises UserError if the environments are another library's, which lack a spec."""
    if getattr(envs, "env_spec", None) is None:
        raise UserError(
            f"{type(envs).__name__} has no env_spec, which agents need: give environments of this "
            "project without Gymnasium's wrappers, such as "
            "gymnasium.make_vec('retro_agents:BrambleDash/train-v0')"
        )


def ended_episodes(infos: Infos) -> list[dict[str, Any]]:
    """Returns the episodes that ended in a step, one dict each.

    env: its row; r: unscaled return; l: agent steps; level; finished: whether it reached the
    level's end; rotated: whether a change of level cut it. A family may report more.
    """
    if "final_info" in infos:  # of Gymnasium's own vector environments in the mode SAME_STEP
        rest = {name: value for name, value in infos.items() if name != "final_info"}
        return ended_episodes(infos["final_info"]) + ended_episodes(rest)
    if "episode_record" not in infos:
        return []
    ended = np.flatnonzero(infos["_episode_record"])
    names = [name for name in infos["episode_record"] if not name.startswith("_")]
    columns = {name: np.asarray(infos["episode_record"][name]).tolist() for name in names}
    values = [{name: columns[name][i] for name in names} for i in ended]
    return [{**value, "env": int(i)} for value, i in zip(values, ended, strict=True)]


def row_seeds(seed: int, num_envs: int) -> list[int]:
    """Returns a seed per row from one seed for all; rows of neighbouring seeds share no stream."""
    return [int(np.random.SeedSequence([seed, i]).generate_state(1)[0]) for i in range(num_envs)]


def seeds_of_rows(seed: int | Sequence[int | None] | None, num_envs: int) -> list[int | None]:
    """Returns a seed per row, or None, from what `reset` was given: one for all, one per row, or
    None. Raises ValueError if it is something else."""
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, (int, np.integer)):
        return [*row_seeds(int(seed), num_envs)]
    given: Any = seed  # by a user
    if isinstance(given, str) or not hasattr(given, "__len__"):
        raise ValueError(f"seed {given!r}: expected a whole number, one for each row, or None")
    if len(given) != num_envs:
        raise ValueError(
            f"{len(given)} seeds for {num_envs} rows: give one for each, or one number"
        )
    return [None if one is None else int(one) for one in given]  # NumPy's too


def check_options(options: Mapping[str, Any] | None, *known: str) -> None:
    """Raises ValueError if `reset` was given an option that the environment does not have."""
    if unknown := sorted({*(options or {})} - {*known}):
        expected = " or ".join(known) or "none"
        raise ValueError(f"unknown option {unknown[0]!r} of reset; expected {expected}")


def saved_states(envs: VectorEnv) -> list[dict[str, Any]]:
    """Returns the rows' states for a checkpoint, or [] if the environments cannot save states."""
    return envs.save_states() if envs.saves_states else []
