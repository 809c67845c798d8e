"""An episodic memory: the actions taken in similar observations, and their returns."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lsh_memory.plain import Floats, Slots
from lsh_memory.scan import ScanIndex
from lsh_memory.storage import CENTRED_AT, Storage
from lsh_memory.tables import TableIndex
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import complete_checkpoints
from retro_agents.ground.ranges import LARGEST, Count, Natural, NonNegative, check
from retro_agents.run.config import from_dict

ROUNDING = 1e-6
"""How far the cosine of equal embeddings may be below 1 in fp32."""
KERNEL_DELTA = 1e-3


@dataclass(frozen=True)
class MemoryConfig:
    """The settings of a memory, saved with it."""

    features: Count
    """Length of an embedding."""
    actions: Count
    """Actions are 0 to actions − 1."""
    capacity: Count = 100_000
    """Entries at most; the least recently used one makes room for another."""
    merge_above: NonNegative = 0.9995
    """Cosine from which an entry with the same action is a near-duplicate; 1: only an equal one;
    above 1: none is."""
    backend: Literal["scan", "tables"] = "scan"
    """How neighbours are found: by a scan of all entries' codes, or by datasketch's LSH tables."""
    candidates: Count = 2_000
    """Entries that a scan compares by whole codes, an eighth of them exactly: more recall costs
    more time."""
    seed: Natural = 0
    """Seed of the hyperplanes."""

    def __post_init__(self) -> None:
        check(self)


@final
@dataclass(frozen=True)
class Neighbours:
    """Entries near a query, best first: arrays [K], or [B,K] of a batch. A missing entry has slot
    −1, action −1, cosine −inf and return NaN."""

    slots: Slots
    cosines: Floats
    actions: NDArray[np.int32]
    returns: Floats


@final
@dataclass(frozen=True)
class ActionValues:
    """For each action, the kernel-weighted mean of its neighbours' returns (NaN without any) and
    the sum of their weights: arrays [B,A]."""

    values: Floats
    weights: Floats


def squares_of(cosines: Floats) -> Floats:
    """Squared distances of vectors of length 1 with these cosines."""
    return np.clip(2.0 - 2.0 * cosines, 0.0, 4.0)


@final
class EpisodicMemory:
    """Stores steps by embedding and finds the nearest. It counts entries merged and evicted.

    Threads may share it: one at a time adds or searches.
    """

    def __init__(self, config: MemoryConfig) -> None:
        self.config = config
        self.storage = Storage(config.features, config.capacity)
        self.index: ScanIndex | TableIndex
        if config.backend == "tables":
            self.index = TableIndex(self.storage, seed=config.seed)
        else:
            self.index = ScanIndex(self.storage, candidates=config.candidates, seed=config.seed)
        self.merged = self.evicted = 0
        self.lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, lock=threading.Lock())

    def __len__(self) -> int:
        return self.storage.size

    def add(self, embedding: ArrayLike, action: int, return_to_go: float) -> int:
        """Store one step: embedding [F] of the observation *before* the action, and the return
        from there on. Returns its slot, which for a near-duplicate is that of the earlier entry.

        Raises ValueError for another shape, numbers that are not finite (or in fp32 would not be),
        or an unknown action.
        """
        unit = self._units(np.asarray(embedding)[None])[0]
        self._check(action, return_to_go)
        with self.lock:
            return self._add(unit, action, return_to_go)

    def _check(self, action: int, return_to_go: float) -> None:
        known = 0 <= action < self.config.actions and action == int(action)
        if not known or not abs(return_to_go) <= LARGEST:
            raise ValueError(
                f"action {action}, return {return_to_go} cannot be stored: expected an action from "
                f"0 to {self.config.actions - 1}, and a return within ±{LARGEST:g}"
            )

    def _add(self, unit: Floats, action: int, return_to_go: float) -> int:
        storage = self.storage
        if self.config.merge_above <= 1.0:
            least = min(self.config.merge_above, 1.0 - ROUNDING)
            slots, cosines = self.index.similar(unit, least)
            cosines = np.where(storage.actions[slots] == action, cosines, -np.inf)
            if len(slots) and cosines.max() > -np.inf:
                slot = int(slots[cosines.argmax()])
                storage.merge(slot, return_to_go=return_to_go)
                self.merged += 1
                return slot
        slot = storage.next_slot()
        self.evicted += slot < storage.size
        storage.write(slot, unit, action=action, return_to_go=return_to_go)
        self.index.insert(slot)
        if storage.size == CENTRED_AT and not storage.centre.any():
            storage.take_centre()
            self._insert_all()  # codes relative to the new centre
        return slot

    def add_batch(self, embeddings: ArrayLike, actions: ArrayLike, returns: ArrayLike) -> Slots:
        """`add` for each row in turn: embeddings [B,F], actions [B], returns [B] -> slots [B]. If a
        row cannot be stored, none is."""
        rows = np.asarray(embeddings)
        plain = (np.asarray(column).tolist() for column in (actions, returns))
        steps = list(zip(rows, *plain, strict=True))
        if steps:
            self._units(rows)
        for _, action, return_to_go in steps:
            self._check(action, return_to_go)
        return np.array([self.add(*step) for step in steps], np.int64)

    def query(self, embedding: ArrayLike, k: int = 10) -> Neighbours:
        """The k entries whose embeddings have the largest cosine with this one [F], or fewer if
        the memory has fewer."""
        rows = self.query_batch(np.asarray(embedding)[None], k)
        there = rows.slots[0] >= 0
        return Neighbours(**{name: row[0][there] for name, row in vars(rows).items()})

    def query_batch(self, embeddings: ArrayLike, k: int = 10) -> Neighbours:
        """`query` for each row [B,F]. A k above the capacity counts as the capacity."""
        if k < 1:
            raise ValueError(f"k is {k}, expected at least 1")
        units = self._units(np.asarray(embeddings))
        with self.lock:
            slots, cosines = self.index.nearest(units, min(k, self.config.capacity))
            there = slots >= 0
            self.storage.touch(slots[there])
            actions = np.where(there, self.storage.actions[slots], -1).astype(np.int32)
            returns = np.where(there, self.storage.returns[slots], np.nan).astype(np.float32)
        return Neighbours(slots, cosines, actions, returns)

    def action_values_batch(
        self, embeddings: ArrayLike, k: int = 50, *, within: float = 2.0
    ) -> ActionValues:
        """Values of the actions for each row [B,F], from the k entries nearest to it, without those
        farther from it than `within`.

        Distances d are between vectors of length 1, so opposite ones are 2 apart. The weight of an
        entry is 1 / (d² + δ), δ = 0.001. Source: Pritzel et al., arXiv:1703.01988, eq. 5.
        """
        near, squares, counts = self._near(embeddings, k, within)
        kernel = np.where(counts, 1.0 / (squares + KERNEL_DELTA), 0.0)
        chosen = near.actions[:, None, :] == np.arange(self.config.actions)[:, None]  # [B,A,K]
        weights = (chosen * kernel[:, None]).sum(axis=2)
        sums = (chosen * (kernel * np.nan_to_num(near.returns))[:, None]).sum(axis=2)
        values = np.full(weights.shape, np.nan)
        np.divide(sums, weights, out=values, where=weights > 0.0)
        return ActionValues(values.astype(np.float32), weights.astype(np.float32))

    def valued_actions(
        self, embeddings: ArrayLike, k: int = 50, *, within: float = 2.0
    ) -> NDArray[np.int32]:
        """The action with the largest of `action_values_batch` for each row [B,F] -> [B]; −1
        without any near entry."""
        found = self.action_values_batch(embeddings, k, within=within)
        best = np.where(np.isnan(found.values), -np.inf, found.values).argmax(axis=1)
        return np.where((found.weights > 0.0).any(axis=1), best, -1).astype(np.int32)

    def best_actions(
        self, embeddings: ArrayLike, k: int = 50, *, within: float = 2.0
    ) -> NDArray[np.int32]:
        """The action of the entry with the largest return among the k nearest to each row [B,F],
        without those farther from it than `within` -> [B]; −1 without any; of equals the nearest.
        """
        near, _, counts = self._near(embeddings, k, within)
        returns = np.where(counts, near.returns, -np.inf)
        best = returns.argmax(axis=1)[:, None]
        actions = np.take_along_axis(near.actions, best, axis=1)
        return np.where(counts.any(axis=1, keepdims=True), actions, -1)[:, 0].astype(np.int32)

    def _near(
        self, embeddings: ArrayLike, k: int, within: float
    ) -> tuple[Neighbours, Floats, NDArray[np.bool_]]:
        """Neighbours, their squared distances, and whether each is there and not too far away."""
        if not within >= 0.0:
            raise ValueError(f"within is {within}, expected 0 or more")
        near = self.query_batch(embeddings, k)
        squares = squares_of(near.cosines)
        return near, squares, (near.slots >= 0) & (squares <= within**2)

    def save(self, folder: Path | str) -> Path:
        """Write the memory into a folder, as a checkpoint without code that replaces an earlier one
        when it is complete. Raises UserError if it cannot be written."""
        from retro_agents.run.checkpoint import save_checkpoint  # torch takes seconds to import

        arrays = self.arrays()
        return save_checkpoint(
            folder, agent="lsh_memory", config=self.config, tensors={}, arrays=arrays, keep=1
        )

    @classmethod
    def load(cls, folder: Path | str) -> "EpisodicMemory":
        """Load a memory that `save` wrote. Raises UserError if it is missing or damaged."""
        from retro_agents.run.checkpoint import load_checkpoint
        from retro_agents.run.distrust import reading

        path = Path(folder)
        found = any(complete_checkpoints(one) for one in (path, path / "checkpoints"))
        if not found and not (path / "meta.json").is_file():
            raise UserError(f"no memory in {folder}: give a folder that EpisodicMemory.save wrote")
        saved = load_checkpoint(folder).of("lsh_memory")
        with reading(saved.folder):
            memory = cls(from_dict(MemoryConfig, saved.config))
            memory.restore(saved.arrays)
        return memory

    def arrays(self) -> dict[str, np.ndarray]:
        """The memory's arrays by name, for a checkpoint; `restore` reads them back."""
        return {**self.storage.arrays(), "counts": np.array([self.merged, self.evicted])}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Restore what `arrays` returned, into an empty memory. Raises ValueError if there are more
        entries than the capacity, or other features."""
        assert not len(self), "the memory holds entries already"
        self.storage.restore(arrays)
        self.merged, self.evicted = arrays["counts"].tolist()
        self._insert_all()

    def _insert_all(self) -> None:
        for slot in range(len(self)):
            self.index.insert(slot)

    def _units(self, embeddings: NDArray) -> Floats:
        """Scales embeddings [B,F] to length 1; zeros stay zeros, with a cosine of 0 to all."""
        if embeddings.ndim != 2 or embeddings.shape[1] != self.config.features:
            raise ValueError(
                f"embeddings of shape {embeddings.shape}, expected {self.config.features} features"
            )
        if embeddings.dtype.kind not in "biuf":
            raise ValueError(f"embeddings of {embeddings.dtype}, expected real numbers")
        units = np.ascontiguousarray(embeddings, np.float32)
        squares = np.einsum("bf,bf->b", units, units, dtype=np.float64)
        if not np.isfinite(squares).all():
            raise ValueError("embeddings that are not finite cannot be compared")
        lengths = np.maximum(np.sqrt(squares), np.finfo(np.float32).tiny)
        return (units / lengths[:, None]).astype(np.float32)
