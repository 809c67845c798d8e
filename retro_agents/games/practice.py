"""Practice where it dies: some episodes begin shortly before the end of an earlier one."""

from collections import deque
from typing import Any, final

import msgspec
import numpy as np
import zstandard
from numpy.typing import NDArray

from retro_agents.contract.envs import Infos, Step, VectorEnv
from retro_agents.ground.errors import UserError
from retro_agents.ground.generators import generator_state, set_generator_state

EVERY = 20
"""Agent steps between two states of an episode that are kept."""
NEAREST, FARTHEST = 30, 90
"""Agent steps from a state where practice begins to the death that followed."""
PLACES = 16
"""Most states that an environment keeps to practise from."""


@final
class Place:
    """A state some steps before a death, and how often practice from there failed."""

    def __init__(self, state: bytes, steps: int, tried: int = 0, failed: int = 0) -> None:
        """state: packed; steps: to the death that followed."""
        self.state, self.steps, self.tried, self.failed = state, steps, tried, failed

    @property
    def weight(self) -> float:
        """Grows with the share of failures, 0 to 1; a place never tried has 1."""
        return (1 + self.failed) / (1 + self.tried)

    def save(self) -> list[Any]:
        """The arguments that make it again."""
        return [self.state, self.steps, self.tried, self.failed]


@final
class Row:
    """What one environment practises, and its current episode."""

    def __init__(self, seed: list[int]) -> None:
        self.rng = np.random.default_rng(seed)
        self.places: list[Place] = []
        self.current: Place | None = None
        """Where the current episode began; None: at the level's start."""
        self.begin()

    def begin(self) -> None:
        """A new episode."""
        self.steps = 0
        self.trail: deque[tuple[int, Any]] = deque(maxlen=1 + FARTHEST // EVERY)

    def end(self, *, died: bool) -> None:
        """Count the episode's result, and store a place before its death."""
        if place := self.current:
            place.tried += 1
            place.failed += died and self.steps <= place.steps + NEAREST
        near = [(self.steps - at, state) for at, state in self.trail]
        near = [(steps, state) for steps, state in near if NEAREST <= steps <= FARTHEST]
        if died and near:
            steps, state = near[self.rng.integers(len(near))]
            if len(self.places) == PLACES:
                self.places.remove(min(self.places, key=lambda place: place.weight))
            self.places.append(Place(packed(state), steps))

    def choose(self, share: float) -> Place | None:
        """The place where the next episode begins, or None for the level's start."""
        self.current = None
        if self.rng.random() < share and self.places:
            weights = np.array([place.weight for place in self.places])
            self.current = self.places[self.rng.choice(len(weights), p=weights / weights.sum())]
        return self.current

    def save(self) -> dict[str, Any]:
        """The state for `restore`."""
        return {
            "rng": generator_state(self.rng),
            "places": [place.save() for place in self.places],
            "current": self.current and self.current.save(),
            "at": self.places.index(self.current) if self.current in self.places else -1,
            "steps": self.steps,
            "trail": [[at, packed(state)] for at, state in self.trail],
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Resume where `save` was called."""
        set_generator_state(self.rng, saved["rng"])
        self.places = [Place(*place) for place in saved["places"]]
        self.current = Place(*saved["current"]) if saved["current"] else None
        if saved["at"] >= 0:
            self.current = self.places[saved["at"]]
        self.begin()
        self.steps = saved["steps"]
        self.trail.extend((at, unpacked(state)) for at, state in saved["trail"])


def packed(state: Any) -> bytes:
    """A row's state in a few kilobytes."""
    return zstandard.compress(msgspec.msgpack.encode(state), 1)


def unpacked(state: bytes) -> Any:
    """What was `packed`."""
    return msgspec.msgpack.decode(zstandard.decompress(state))


@final
class Practice:
    """A vector environment in which a share of the episodes begins some 30 to 90 agent steps before
    an earlier death, most often where that was failed most often. Only episodes that begin at the
    start of a level are reported."""

    def __init__(self, envs: VectorEnv, share: float, *, seed: int, first: int = 0) -> None:
        """share: of the episodes. first: number of the first environment, in a group of processes.
        Raises UserError if these environments cannot restart a row."""
        if not envs.restarts_rows:
            raise UserError("--practice is for platform games: Procgen's cannot be begun midway")
        self.envs, self.share = envs, share
        self.rows = [Row([seed, first + i, PLACES]) for i in range(envs.num_envs)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.envs, name)

    def reset(self, **options: Any) -> tuple[NDArray[np.uint8], Infos]:
        """See `VectorEnv`; every episode begins at the start of a level."""
        mask = (options.get("options") or {}).get("reset_mask", np.ones(len(self.rows), bool))
        for i in np.flatnonzero(mask):
            self.rows[i].begin()
            self.rows[i].current = None
        return self.envs.reset(**options)

    def step(self, actions: NDArray[np.integer]) -> Step:
        """See `VectorEnv`."""
        self.envs.step_async(actions)
        return self.step_wait()

    def step_wait(self, part: slice | None = None) -> Step:
        """See `VectorEnv`."""
        obs, rewards, terminated, truncated, infos = self.envs.step_wait(part)
        numbers = range(len(self.rows))[part or slice(None)]
        ended = (terminated | truncated).tolist()
        for k, i in enumerate(numbers):
            row = self.rows[i]
            row.steps += 1
            if ended[k]:
                obs[k] = self.next_episode(i, obs[k], infos, died=bool(terminated[k]))
            elif row.steps % EVERY == 0:
                row.trail.append((row.steps, self.envs.save_row(i)))
        return obs, rewards, terminated, truncated, infos

    def next_episode(
        self, i: int, obs: NDArray[np.uint8], infos: Infos, *, died: bool
    ) -> NDArray[np.uint8]:
        """The first observation of row i's next episode. obs: at the level's start. died: whether
        the last one was terminated."""
        row = self.rows[i]
        infos["_episode_record"][i] &= row.current is None
        row.end(died=died and not infos["episode_record"]["finished"][i])
        place = row.choose(self.share)
        row.begin()
        if place is None:
            return obs
        return self.envs.restart(i, unpacked(place.state))[-len(obs) :]

    def save_states(self) -> list[dict[str, Any]]:
        """See `VectorEnv`."""
        saved = zip(self.envs.save_states(), self.rows, strict=True)
        return [{**state, "practice": row.save()} for state, row in saved]

    def restore_states(self, states: list[dict[str, Any]]) -> NDArray[np.uint8]:
        """See `VectorEnv`. A run saved without practice has no places yet."""
        obs = self.envs.restore_states(states)
        for row, state in zip(self.rows, states, strict=True):
            if "practice" in state:
                row.restore(state["practice"])
        return obs
