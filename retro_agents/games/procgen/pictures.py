"""First pictures of levels. Levels with different seeds can begin with the very same picture, and
are then the same level to an agent: a test level may be one that it was trained on."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.procgen.pool import Pool, options_of

ROWS = 64
"""Environments that draw training levels until all have been seen."""
MOST = 2_000
"""Training levels that are compared at most: each is drawn about eight times, in a millisecond."""


def digests(pool: Pool, rows: int) -> dict[str, bytes]:
    """Begins an episode in each row. Returns the digest of each level's first picture, by its
    name."""
    frames, names = pool.reset(np.arange(rows))
    pictures = (blake2b(frame.tobytes(), digest_size=16).digest() for frame in frames)
    return dict(zip(names, pictures, strict=True))


def first_pictures(game: str, config: ProcgenConfig) -> set[bytes]:
    """Digests of the first pictures of all levels of a config; of none if there are more than
    MOST, or no limit."""
    count = int(options_of(game, config)[1]["num_levels"])
    if not 0 < count <= MOST:
        return set()
    rows, seen = min(ROWS, count), dict[str, bytes]()
    pool = Pool(game, config, np.arange(rows), range(rows))
    while len(seen) < count:
        seen |= digests(pool, rows)
    return set(seen.values())


def apart(
    game: str, episodes: Iterable[Mapping[str, Any]], *, test: ProcgenConfig, train: ProcgenConfig
) -> list[Mapping[str, Any]] | None:
    """The episodes on test levels that begin with another picture than every training level. None
    if the training levels are too many to compare, see `first_pictures`."""
    trained, found = first_pictures(game, train), list[Mapping[str, Any]]()
    for episode in episodes if trained else ():
        seed = int(episode["level"].partition(":")[2])
        alone = Pool(game, replace(test, start_level=seed, num_levels=1), np.arange(1), [0])
        if trained.isdisjoint(digests(alone, 1).values()):
            found.append(episode)
    return found if trained else None
