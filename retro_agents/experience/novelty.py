"""A reward for every new pair of progress and colours on a level."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from retro_agents.run.distributed import Group

PROGRESS = 100.0
"""Contest reward (9,000 to a level's end) per unit of the key's progress."""
COLOURS = 64
"""Number of different colour sums."""


class Novelty:
    """A reward for every key (level, progress, colour sum) that no environment has met before.

    Source: the winners of the Retro Contest. The colour sum is of the observation's newest frame.
    Progress is the furthest point of the episode; with --no-backtracking, its raw reward.
    """

    def __init__(self) -> None:
        self.seen: set[tuple[int, ...]] = set()

    def bonus(
        self,
        frames: Tensor,
        *,
        levels: NDArray[np.int64],
        progress: NDArray[np.floating],
        ended: NDArray[np.bool_],
        group: Group,
    ) -> NDArray[np.bool_]:
        """Whether each step [T,N] led to a new key. frames uint8 [T,N,...]: reached by the steps;
        ended: last steps of episodes. Earlier steps come first, then earlier environments."""
        means = frames.flatten(2).float().mean(dim=2).cpu().numpy()
        keys = np.stack([levels, progress // PROGRESS, means * COLOURS // 256, ended], axis=2)
        keys = keys.astype(np.int64)
        everyone = np.concatenate(group.gather(keys), axis=1)
        steps, num_envs = everyone.shape[:2]
        new = np.zeros((steps, num_envs), bool)
        for row, (*key, last) in enumerate(everyone.reshape(-1, 4).tolist()):
            if not last and tuple(key) not in self.seen:
                self.seen.add(tuple(key))
                new.flat[row] = True
        own = num_envs // group.size
        return new[:, group.rank * own : (group.rank + 1) * own]

    def array(self) -> NDArray[np.int64]:
        """All keys so far, [K,3], for a checkpoint."""
        return np.array(sorted(self.seen), np.int64).reshape(-1, 3)

    def restore(self, keys: NDArray[np.int64]) -> None:
        """Restore the keys that `array` returned."""
        self.seen = {tuple(key) for key in keys.tolist()}
