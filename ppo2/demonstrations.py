"""What a policy is cloned from: what was seen, what to do there, and what it earned."""

from collections.abc import Sequence
from math import prod
from typing import final

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.envs import EnvSettings, EnvSpec
from retro_agents.contract.frames import stacked
from retro_agents.experience.advantages import returns_to_go
from retro_agents.experience.episodes import Episode, check_played_alike, episodes_of, left_by
from retro_agents.experience.return_scale import ReturnScale
from retro_agents.ground.device import memory_for
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import folders_of
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.distributed import Group
from retro_agents.run.distrust import reading

UNKNOWN = -1
"""The action of a step for which none was demonstrated."""
BYTES_BESIDE_FRAME = 13
"""Of a step."""


@final
class Demonstrations:
    """`steps` steps of each of N rows, in memory allocated at once; every frame is stored once.

    actions int8 [N,S]: what to do, or UNKNOWN; it need not be what was done. returns float32
    [N,S]: discounted; nan until the episode is over. `sample` divides them by the deviation of the
    discounted sums of all rewards so far, the scale of PPO2's returns with `normalise_returns`.
    """

    def __init__(self, rows: int, steps: int, *, spec: EnvSpec, gamma: float) -> None:
        """Raises UserError if there is no room."""
        shape = (spec.channels, *spec.observation_shape[1:])
        self.spec, self.gamma, self.filled = spec, gamma, 0
        self.steps_back = np.array(spec.steps_back)
        with memory_for(
            f"{rows * steps} steps",
            instead="give fewer --steps, or --demonstrations",
            size=rows * steps * (prod(shape) + BYTES_BESIDE_FRAME),
        ):
            self.frames = np.zeros((rows, steps, *shape), np.uint8)
            self.ages = np.zeros((rows, steps), np.int32)  # steps since the episode began
            self.actions = np.full((rows, steps), UNKNOWN, np.int8)
            self.rewards = np.zeros((rows, steps), np.float32)
            self.returns = np.full((rows, steps), np.nan, np.float32)
        self.age = np.zeros(rows, np.int32)
        self.levels: list[str] = []
        """Those of recorded episodes."""
        self.counts = np.zeros(spec.actions, np.int64)
        """Steps at which each action was the one to take."""
        self.scale = ReturnScale(rows, gamma=gamma)

    @property
    def size(self) -> int:
        """Steps that can be drawn."""
        return self.filled * len(self.frames)

    @property
    def full(self) -> bool:
        """Whether there is no more room."""
        return self.filled == self.frames.shape[1]

    def add(
        self,
        obs: NDArray[np.uint8],
        actions: NDArray[np.integer],
        rewards: NDArray[np.floating],
        ended: NDArray[np.bool_],
    ) -> None:
        """A step of every row: obs [N,C,H,W] before it, what to do there, and what came of it."""
        at = self.filled
        self.frames[:, at] = obs[:, -self.spec.channels :]
        self.ages[:, at], self.actions[:, at] = self.age, actions
        self.counts += np.bincount(actions[actions != UNKNOWN], minlength=len(self.counts))
        self.rewards[:, at] = rewards
        self.scale(rewards[None], ended[None], Group())
        self.filled += 1
        self.age += 1
        for row in np.flatnonzero(ended):
            mine = slice(self.filled - int(self.age[row]), self.filled)
            self.returns[row, mine] = returns_to_go(self.rewards[row, mine], gamma=self.gamma)
            self.age[row] = 0

    def sample(
        self, count: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.float32]]:
        """Steps drawn uniformly -> observations [B,C,H,W], actions [B], returns [B]."""
        rows = rng.integers(len(self.frames), size=count)
        steps = rng.integers(self.filled, size=count)
        # An episode's first frame also stands in for those before it, as in the environment.
        back = np.minimum(self.steps_back, self.ages[rows, steps][:, None])
        frames = self.frames[rows[:, None], steps[:, None] - back]
        obs = stacked(frames)
        returns = self.returns[rows, steps] / np.float32(self.scale.deviation)
        return obs, self.actions[rows, steps].astype(np.int64), returns


def read(folders: str, settings: EnvSettings, *, gamma: float) -> Demonstrations:
    """The recorded episodes of folders and runs, separated by commas. Raises UserError if there are
    none, or if some have other frames or actions than an agent of these settings."""
    spec, episodes = settings.spec(), []
    for source in folders_of(folders):
        saved = load_checkpoint(left_by(source))
        with reading(saved.folder):
            found = episodes_of(saved)
        if not found:
            raise UserError(
                f"{source} holds no recorded episodes: `retro-agents record AGENT` records some"
            )
        check_played_alike(found, spec, source=source)
        shape = (spec.channels, *spec.observation_shape[1:])
        seen = [e for e in found if e.frames is not None and e.frames.shape[1:] == shape]
        if len(seen) < len(found):
            raise UserError(
                f"{source} holds {len(found)} recorded episodes, {len(seen)} of them with frames "
                f"{list(shape)}: expected all; `retro-agents record` makes some with these settings"
            )
        episodes += seen
    if not episodes:
        raise UserError(f"--demonstrations {folders} names no folder")
    return of_episodes(episodes, settings, gamma=gamma)


def of_episodes(
    episodes: Sequence[Episode], settings: EnvSettings, *, gamma: float
) -> Demonstrations:
    """Recorded episodes, one after the other in one row. A cut episode counts as ended, with
    a value of 0 after it: recorders cut where nothing more was earned."""
    spec, steps = settings.spec(), sum(len(episode.actions) for episode in episodes)
    found = Demonstrations(1, steps, spec=spec, gamma=gamma)
    found.levels = list(dict.fromkeys(episode.level for episode in episodes))
    for episode in episodes:
        assert episode.frames is not None, "episodes with frames"
        rewards = settings.learning_rewards(episode.rewards)
        for step in range(len(rewards)):
            here, ended = slice(step, step + 1), np.array([step == len(rewards) - 1])
            found.add(episode.frames[here], episode.actions[here], rewards[here], ended)
    return found
