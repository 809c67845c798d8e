"""What agents know of any environment: Gymnasium's vector interface, and what it leaves open."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Infos = dict[str, Any]
Step = tuple[NDArray[np.uint8], NDArray[np.floating], NDArray[np.bool_], NDArray[np.bool_], Infos]


@dataclass(frozen=True)
class EnvSpec:
    """What nets are built from, and what decides whether two agents fit together."""

    family: str
    observation_shape: tuple[int, int, int]
    """[C, H, W], frames one after the other along C, the oldest first."""
    frame_stack: int
    """Frames in an observation."""
    action_names: tuple[str, ...]
    frame_skip: int
    """Frames of the game per agent step."""
    rewards: Mapping[str, Any]
    """What a reward means, by flag; transitions of other rewards are not learned from together."""
    reward_scale: float = 1.0
    """Factor on the rewards; those of episodes are without it."""
    steps_back: tuple[int, ...] = ()
    """Of each frame in an observation, the oldest first; none given: frames in a row."""
    difference: bool = False
    """Older frames are shown as their difference to the newest, see
    `retro_agents.contract.frames`."""

    def __post_init__(self) -> None:
        in_a_row = tuple(range(self.frame_stack))[::-1]
        object.__setattr__(self, "steps_back", self.steps_back or in_a_row)
        assert len(self.steps_back) == self.frame_stack, "one number for each frame"

    @property
    def actions(self) -> int:
        """How many there are."""
        return len(self.action_names)

    @property
    def channels(self) -> int:
        """Of one frame."""
        return self.observation_shape[0] // self.frame_stack


@runtime_checkable
class EnvSettings(Protocol):
    """A family's settings: a frozen dataclass, the section `env` of an agent's config."""

    def spec(self) -> EnvSpec:
        """What environments of these settings offer."""
        ...

    def with_raw_rewards(self) -> Self:
        """The same, but with rewards as the game gives them."""
        ...

    def learning_rewards(self, rewards: NDArray[np.floating]) -> NDArray[np.float32]:
        """Raw rewards [T] of an episode, from its start -> what an agent learns from, [T]."""
        ...


class VectorEnv(Protocol):
    """N environments that step together; Gymnasium's SAME_STEP autoreset.

    Where an episode ends, the observation is the next one's first, and
    infos["final_obs"][i] its own last; `ended_episodes(infos)` reports it.
    """

    num_envs: int
    env_spec: EnvSpec
    levels: list[str]
    """What each row plays now."""
    saves_states: bool
    """Whether `restore_states` can go on where `save_states` was called."""
    resets_rows: bool
    """Whether `reset` can begin single rows, with levels and seeds of their own."""

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], Infos]:
        """New episodes -> observations uint8 [N,C,H,W] of all rows, infos of the episodes that this
        cuts, as `ended_episodes` reads them.

        seed: one for all, or one per row. options: "reset_mask" bool [N]: only these rows begin
        anew (Gymnasium's name); "levels": a name per row, or None: the row's own next one. Both
        only where `resets_rows`.
        """
        ...

    def step_async(self, actions: NDArray[np.integer], part: slice | None = None) -> None:
        """Begin a step; actions int [N], or of the rows of `part` only."""
        ...

    def step_wait(self, part: slice | None = None) -> Step:
        """End it -> observations [N,C,H,W], rewards, terminated, truncated [N], infos (of all N
        also with `part`)."""
        ...

    def step(self, actions: NDArray[np.integer]) -> Step:
        """`step_async` and `step_wait` in one."""
        ...

    def save_states(self) -> list[dict[str, Any]]:
        """Each row's whole state, for msgpack. Only where `saves_states`."""
        ...

    def restore_states(self, states: list[dict[str, Any]]) -> NDArray[np.uint8]:
        """Go on from `save_states`, in an environment of the same make -> observations.

        UserError: it cannot.
        """
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...


class Expert(Protocol):
    """Who knows more of a game than agents may, and says what to do wherever one stands."""

    def actions(self, envs: Any) -> NDArray[np.int64]:
        """What to do in each row of a vector environment now [N], -1 where it does not know. To be
        asked before every step."""
        ...


def ended_episodes(infos: Infos) -> list[dict[str, Any]]:
    """The episodes that ended in a step, one dict each.

    env: its row; r: return, unscaled; l: agent steps; level; finished: whether it reached the
    level's end; rotated: cut by a change of level. A family may report more.
    """
    if "episode_record" not in infos:
        return []
    ended = np.flatnonzero(infos["_episode_record"])
    names = [name for name in infos["episode_record"] if not name.startswith("_")]
    columns = {name: infos["episode_record"][name].tolist() for name in names}
    values = [{name: columns[name][i] for name in names} for i in ended]
    return [{**value, "env": int(i)} for value, i in zip(values, ended, strict=True)]


def row_seeds(seed: int, num_envs: int) -> list[int]:
    """The seeds that rows have where one is given for all; neighbouring ones share no stream."""
    return [int(np.random.SeedSequence([seed, i]).generate_state(1)[0]) for i in range(num_envs)]


def saved_states(envs: VectorEnv) -> list[dict[str, Any]]:
    """The rows' states for a checkpoint; of environments without, where they stood is not kept."""
    return envs.save_states() if envs.saves_states else []
