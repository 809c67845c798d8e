"""Prioritised replay that stores every frame once.

Each environment has a ring of slots. A slot holds an observation's newest frame, and the action and
reward that followed. An episode's end adds one more slot, never drawn, for its true final
observation. Frame stacks and n-step returns are assembled when a batch is drawn:

    slot      0    1    2    3(end)  F    0    1   …        F: final slot, then a new episode
    frame     o0   o1   o2   o3      o4   o0'  o1'

Sources: Schaul et al., arXiv:1511.05952 (priorities); Hessel et al., arXiv:1710.02298 (n-step).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.frames import stacked
from retro_agents.experience.sum_tree import SumTree
from retro_agents.ground.arrays import Rows, pieces, whole

GOES_ON, TERMINATED, TRUNCATED, FINAL = 0, 1, 2, 3
SLOT_FIELDS = ("frames", "actions", "rewards", "ends", "ages")
RING_FIELDS = ("heads", "filled", "episode_ages")
MAX_AGE = np.iinfo(np.uint16).max

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Batch:
    """B transitions, with the rewards of the n steps after `obs` summed.

    obs, next_obs uint8 [B,C,H,W]; actions int64 [B]; returns, discounts, weights float32 [B];
    indices int64 [B]. discounts: gamma^k after k <= n steps, 0 where the episode terminated.
    """

    obs: NDArray[np.uint8]
    actions: Ints
    returns: NDArray[np.float32]
    next_obs: NDArray[np.uint8]
    discounts: NDArray[np.float32]
    weights: NDArray[np.float32]
    indices: Ints


class Replay:
    """See the module's text. Counts are per environment, except `capacity` and `size`."""

    slot_fields: tuple[str, ...] = SLOT_FIELDS
    """Names of the arrays with a value for each slot."""

    def __init__(
        self,
        capacity: int,
        num_envs: int,
        *,
        frame_shape: tuple[int, int, int],
        steps_back: Sequence[int],
        n_step: int,
        gamma: float,
        alpha: float,
        epsilon: float = 0.1,
        prioritised: bool = True,
    ) -> None:
        """frame_shape: of one frame; steps_back: see `envs.EnvSpec`."""
        self.slots = capacity // num_envs
        self.steps_back = np.array(steps_back)
        self.reach = int(self.steps_back.max())
        """Slots by which an observation reaches back."""
        if self.slots <= self.reach + n_step + 3:
            raise ValueError(f"a ring of {self.slots} slots is too short for its stacks and steps")
        self.num_envs, self.n_step = num_envs, n_step
        self.alpha, self.epsilon, self.prioritised = alpha, epsilon, prioritised
        self.powers = gamma ** np.arange(n_step + 1)
        total = self.slots * num_envs
        self.frames = np.zeros((total, *frame_shape), np.uint8)
        self.actions = np.zeros(total, np.uint8)
        self.rewards = np.zeros(total, np.float32)
        self.ends = np.zeros(total, np.uint8)
        self.ages = np.zeros(total, np.uint16)  # steps since the episode began
        self.tree = SumTree(total)
        self.heads = np.zeros(num_envs, np.int64)  # slot written next
        self.filled = np.zeros(num_envs, np.int64)
        self.episode_ages = np.zeros(num_envs, np.int64)
        self.max_priority = 1.0

    @property
    def size(self) -> int:
        """Slots in use, including final ones."""
        return int(self.filled.sum())

    def add(
        self,
        obs: NDArray[np.uint8],
        actions: Ints,
        rewards: NDArray[np.floating],
        terminated: NDArray[np.bool_],
        truncated: NDArray[np.bool_],
        final_obs: Sequence[NDArray[np.uint8]],
        *,
        first: int = 0,
    ) -> Ints:
        """Store one step of N environments: obs [N,C,H,W] before it; actions, rewards and flags
        [N]; final_obs N times [C,H,W], read only where an episode ended. The environments are those
        from number `first` on.

        Returns the slots [K] whose transitions are now complete, and can be drawn.
        """
        envs = first + np.arange(len(actions))
        ended = terminated | truncated
        ends = np.where(terminated, TERMINATED, np.where(truncated, TRUNCATED, GOES_ON))
        slots, ages = self.heads[envs], self.episode_ages[envs]
        self._write(envs, obs, actions, rewards, ends)
        if ended.any():
            over = np.flatnonzero(ended)
            finals = np.stack([final_obs[row] for row in over.tolist()])
            self._write(envs[over], finals, 0, 0.0, FINAL)
            self.episode_ages[envs[over]] = 0
        return self._admit(envs, slots, ages, ended)

    def cut(self, envs: Ints) -> Ints:
        """Truncate the current episodes of these rings at their newest observation; the next steps
        belong to new episodes.

        Returns the slots [K] whose transitions are thereby complete, and can be drawn."""
        envs = envs[self.episode_ages[envs] > 0]
        newest, ages = (self.heads[envs] - 1) % self.slots, self.episode_ages[envs] - 1
        self.ends[envs * self.slots + newest] = FINAL
        self.episode_ages[envs] = 0
        longer = ages > 0
        envs, last, ages = envs[longer], (newest[longer] - 1) % self.slots, ages[longer] - 1
        self.ends[envs * self.slots + last] = TRUNCATED
        return self._admit(envs, last, ages, np.ones(len(envs), bool))

    def _write(
        self,
        envs: Ints,
        obs: NDArray[np.uint8],
        actions: Ints | int,
        rewards: NDArray[np.floating] | float,
        ends: Ints | int,
    ) -> None:
        """Overwrite the next slot of each of `envs`; transitions that used it can no longer be
        drawn."""
        slots = self.heads[envs]
        full = self.filled[envs] == self.slots
        if full.any():  # the stacks of the next slots reach back into this one
            lost = slots[full, None] + np.arange(self.reach + 1)
            self.tree.set((envs[full, None] * self.slots + lost % self.slots).ravel(), 0.0)
        flat = envs * self.slots + slots
        self.frames[flat] = obs[:, -self.frames.shape[1] :]
        self.actions[flat], self.rewards[flat], self.ends[flat] = actions, rewards, ends
        self.ages[flat] = np.minimum(self.episode_ages[envs], MAX_AGE)
        self.heads[envs] = (slots + 1) % self.slots
        self.filled[envs] = np.minimum(self.filled[envs] + 1, self.slots)
        self.episode_ages[envs] += 1

    def _admit(self, envs: Ints, slots: Ints, ages: Ints, ended: NDArray[np.bool_]) -> Ints:
        """Make the slots drawable whose n steps are now complete: the one n back, and at the end of
        an episode all later ones. Returns these slots."""
        back = np.arange(self.n_step + 1)
        ready = (back <= ages[:, None]) & (ended[:, None] | (back == self.n_step))
        rows, steps = np.nonzero(ready)
        flat: Ints = envs[rows] * self.slots + (slots[rows] - steps) % self.slots
        flat = flat[self.tree.leaves[flat] == 0.0]  # a cut may find some drawable already
        self.tree.set(flat, self.max_priority)
        return flat

    def sample(self, batch_size: int, *, beta: float, rng: np.random.Generator) -> Batch:
        """Draw one transition from each of `batch_size` equal shares of the total priority."""
        total = self.tree.total
        if total <= 0.0:
            raise ValueError("no transition to draw yet")
        masses = (np.arange(batch_size) + rng.random(batch_size)) * (total / batch_size)
        indices = self.tree.find(masses)
        # (size · P(i))^-beta over its maximum: size and total cancel.
        priorities = self.tree.leaves[indices]
        weights = (priorities / priorities.min()) ** -beta
        return self.gather(indices, weights.astype(np.float32))

    def gather(self, indices: Ints, weights: NDArray[np.float32]) -> Batch:
        """Assemble the transitions that begin in these slots [B]. weights [B]: of the batch."""
        base = indices - indices % self.slots
        steps = np.arange(self.n_step)
        window = base[:, None] + (indices[:, None] - base[:, None] + steps) % self.slots
        ends = self.ends[window]
        before = np.zeros_like(ends, dtype=bool)
        before[:, 1:] = np.logical_or.accumulate(ends[:, :-1] != GOES_ON, axis=1)
        alive = ~before
        length = alive.sum(axis=1)
        returns = (self.rewards[window] * alive) @ self.powers[:-1]
        over = ends[np.arange(len(indices)), length - 1] == TERMINATED
        discounts = np.where(over, 0.0, self.powers[length])
        following = base + (indices - base + length) % self.slots
        return Batch(
            obs=self._stack(indices),
            actions=self.actions[indices].astype(np.int64),
            returns=returns.astype(np.float32),
            next_obs=self._stack(following),
            discounts=discounts.astype(np.float32),
            weights=weights,
            indices=indices,
        )

    def _stack(self, indices: Ints) -> NDArray[np.uint8]:
        """The observations whose newest frames are at `indices`: [B,C,H,W], oldest frame first. An
        episode's first frame also stands for the frames before it, as in the environment."""
        back = np.minimum(self.steps_back, self.ages[indices][:, None])
        base = indices - indices % self.slots
        where = base[:, None] + (indices[:, None] - base[:, None] - back) % self.slots
        return stacked(np.take(self.frames, where, axis=0))

    def update_priorities(self, indices: Ints, losses: NDArray[np.floating]) -> None:
        """Set a batch's priorities from its unweighted losses [B]. A loss that cannot be
        negative, such as a KL divergence, may be rounded to below 0: it counts as 0."""
        if not self.prioritised:
            return
        priorities = (np.maximum(losses.astype(np.float64), 0.0) + self.epsilon) ** self.alpha
        self.max_priority = max(self.max_priority, float(priorities.max()))
        self.tree.set(indices, priorities)

    def arrays(self) -> dict[str, Rows]:
        """The replay's arrays, for a checkpoint: views of the slots in use, ring by ring."""
        return {
            **{name: self._used(getattr(self, name)) for name in self.slot_fields},
            "priorities": self._used(self.tree.leaves),
            **{name: getattr(self, name) for name in RING_FIELDS},
            "max_priority": np.array([self.max_priority]),
        }

    def _used(self, array: NDArray) -> list[NDArray]:
        """The parts of an array of all slots that are in use, ring by ring."""
        rings = array.reshape(self.num_envs, self.slots, *array.shape[1:])
        return [ring[:filled] for ring, filled in zip(rings, self.filled, strict=True)]

    def restore(self, saved: Mapping[str, Any], *, alpha: float | None = None) -> None:
        """Restore what `arrays` returned. alpha: see `taken_over`. Raises ValueError if the rings'
        shape differs."""
        filled, heads = saved["filled"], saved["heads"]
        fits = len(filled) == self.num_envs and filled.max() <= self.slots
        # A smaller ring that was full has its oldest slot in the middle, where a larger one cannot.
        if not fits or ((filled < self.slots) & (heads != filled)).any():
            raise ValueError("the saved replay has other rings: other num_envs or replay_size")
        for name in RING_FIELDS:
            getattr(self, name)[:] = saved[name]
        self.heads %= self.slots  # the saved ring may have been larger, with as many slots in use
        self.tree = SumTree(self.tree.size)  # without what a damaged checkpoint has left
        where = np.flatnonzero(np.arange(self.slots) < self.filled[:, None])
        for name in self.slot_fields:
            self.fill(saved, name, np.arange(len(where)), where)
        self.tree.set(where, self.taken_over(whole(saved, "priorities"), alpha))
        self.max_priority = self.taken_over(saved["max_priority"], alpha).item()

    def fill(self, saved: Mapping[str, Any], name: str, source: Ints, target: Ints) -> None:
        """Fill the slots `target` [K] of a field from the rows `source` [K] of the saved one."""
        order = source.argsort()
        source, target, start = source[order], target[order], 0
        for rows in pieces(saved, name):
            here = slice(*np.searchsorted(source, [start, start + len(rows)]))
            getattr(self, name)[target[here]] = rows[source[here] - start]
            start += len(rows)

    def taken_over(self, priorities: Floats, alpha: float | None) -> Floats:
        """Another replay's priorities for this one, with this one's exponent instead of alpha, if
        that is given; all equal if this one is not prioritised."""
        power = self.alpha / alpha if alpha and self.prioritised else float(self.prioritised)
        return np.where(priorities > 0.0, priorities**power, 0.0)

    def append(self, env: int, ends: NDArray[np.uint8], priorities: Floats) -> Ints:
        """Reserve consecutive slots with these ends and priorities at ring `env`'s head; the last
        episode is cut if it is unfinished. Returns the places [K] of the first K slots."""
        if len(ends) > 1 and ends[-1] != FINAL and ends[-2] == FINAL:
            ends = ends[:-1]  # an episode that has only its first observation
        if len(ends) <= self.reach + 1:
            return np.zeros(0, np.int64)
        if ends[-1] != FINAL:  # the newest frame becomes the final observation
            ends[-2:] = TRUNCATED, FINAL
        target = env * self.slots + int(self.heads[env]) + np.arange(len(ends))
        self.ends[target] = ends
        priorities = np.where(ends == FINAL, 0.0, priorities[: len(ends)])
        priorities[: self.reach] = 0.0  # their stacks may reach back beyond the first slot
        self.tree.set(target, priorities)
        self.heads[env] = (self.heads[env] + len(ends)) % self.slots
        self.filled[env] += len(ends)
        return target
