import dataclasses
import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lsh_memory import EpisodicMemory, MemoryConfig, compiling, kernels, plain, scan
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import save_checkpoint
from tests.runs import in_python

SMALL = MemoryConfig(features=16, actions=3, capacity=40, merge_above=0.999)


class Model:
    """What the memory should do, written with lists; exact search."""

    def __init__(self, config):
        self.config, self.clock, self.entries = config, 0, []

    def cosines(self, x):
        x = x / np.linalg.norm(x)
        return [float(entry["x"] @ x) for entry in self.entries]

    def add(self, x, action, value):
        self.clock += 1
        near = [
            (cosine, -slot)
            for slot, cosine in enumerate(self.cosines(x))
            if cosine >= self.config.merge_above and self.entries[slot]["action"] == action
        ]
        if near:
            slot = -max(near)[1]
            entry = self.entries[slot]
            entry.update(value=max(entry["value"], value), used=self.clock)
            return slot
        x = x / np.linalg.norm(x)
        entry = {"x": x, "action": action, "value": value, "used": self.clock}
        if len(self.entries) < self.config.capacity:
            self.entries.append(entry)
            return len(self.entries) - 1
        slot = min(range(len(self.entries)), key=lambda i: self.entries[i]["used"])
        self.entries[slot] = entry
        return slot

    def query(self, x, k):
        self.clock += 1
        cosines = self.cosines(x)
        slots = sorted(range(len(cosines)), key=lambda slot: -cosines[slot])[:k]
        for slot in slots:
            self.entries[slot]["used"] = self.clock
        return slots


@pytest.mark.parametrize("seed", range(5))
def test_memory_does_what_a_plain_list_would(walk, seed):
    memory, model, rng = EpisodicMemory(SMALL), Model(SMALL), np.random.default_rng(seed)
    steps = walk(400, 16, seed=seed) + 0.01
    for step, x in enumerate(steps):
        if rng.random() < 0.3:
            x = steps[rng.integers(step + 1)]  # seen before, and changed so that none are equal
            x = x * (1.0 + 0.005 * rng.normal(size=16))
        action, value = int(rng.integers(3)), float(rng.normal())
        assert memory.add(x, action, value) == model.add(x, action, value)
        if rng.random() < 0.3:
            x = steps[rng.integers(len(steps))]
            assert memory.query(x, 5).slots.tolist() == model.query(x, 5)
    assert memory.merged > 20 and memory.evicted == 400 - memory.merged - len(memory) > 20
    for name, column in (("actions", "action"), ("returns", "value"), ("used", "used")):
        want = np.array([entry[column] for entry in model.entries])
        np.testing.assert_allclose(getattr(memory.storage, name)[: len(memory)], want, rtol=1e-6)


@pytest.mark.parametrize("factor", [1.0, 3.0, 1e-3])
def test_at_one_all_that_are_equal_are_merged_and_no_others(factor):
    """Whatever their length: in fp32 the cosine of equal ones may be below 1."""
    memory = EpisodicMemory(dataclasses.replace(SMALL, features=300, merge_above=1.0))
    rows = np.random.default_rng(0).normal(size=(30, 300)).astype(np.float32)
    slots = memory.add_batch(rows, [0] * 30, [1.0] * 30).tolist()
    again = memory.add_batch(rows * np.float32(factor), [0] * 30, [1.0] * 30).tolist()
    assert slots == again == [*range(30)]
    rows[:, 0] += 0.05
    assert memory.add(rows[0], 0, 1.0) == 30


@pytest.mark.parametrize("backend", ["scan", "tables"])
def test_the_seed_draws_the_hyperplanes(backend):
    if backend == "tables":
        pytest.importorskip("datasketch")
    one, same, other = (
        EpisodicMemory(dataclasses.replace(SMALL, backend=backend, seed=seed)).index.signs
        for seed in (1, 1, 2)
    )
    assert np.array_equal(one, same) and not np.array_equal(one, other)


@pytest.mark.parametrize("module", [kernels, plain, "tables"])
@pytest.mark.parametrize("ones", [1, 8])
def test_near_duplicates_of_sparse_embeddings_are_merged(module, ones, monkeypatch):
    """Many bits of their codes are the signs of sums that are 0, or nearly."""
    if module == "tables":
        pytest.importorskip("datasketch")
    else:
        monkeypatch.setattr(scan, "kernels", lambda: module)
    backend = "tables" if module == "tables" else "scan"
    memory = EpisodicMemory(MemoryConfig(256, 1, backend=backend))
    rng = np.random.default_rng(0)
    rows = np.zeros((200, 256))
    for row, x in enumerate(rows):
        x[[row, *rng.choice(np.arange(200, 256), ones - 1, replace=False)]] = ones**-0.5
    noise = rng.normal(size=rows.shape)
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    for near in (rows, rows + 0.018 * noise, rows - 0.01 * noise):  # cosines of 0.9996 and more
        slots = memory.add_batch(near, [0] * 200, [0.0] * 200)
        assert slots.tolist() == [*range(200)]


def test_nothing_is_merged_above_one():
    memory = EpisodicMemory(dataclasses.replace(SMALL, merge_above=1.1))
    assert memory.add_batch(np.ones((5, 16)), [0] * 5, [1.0] * 5).tolist() == [0, 1, 2, 3, 4]
    assert memory.merged == 0


def test_batches_give_what_single_calls_give(walk):
    config = dataclasses.replace(SMALL, capacity=1_000)
    steps, queries = walk(300, 16), walk(20, 16, seed=1)
    actions, returns = np.arange(300) % 3, np.arange(300.0)
    one, other = EpisodicMemory(config), EpisodicMemory(config)
    slots = [one.add(*step) for step in zip(steps, actions, returns, strict=True)]
    np.testing.assert_array_equal(other.add_batch(steps, actions, returns), slots)
    rows = other.query_batch(queries, 7)
    for row, query in enumerate(queries):
        near = one.query(query, 7)
        count = len(near.slots)
        for field in dataclasses.fields(near):
            single, batch = getattr(near, field.name), getattr(rows, field.name)[row]
            np.testing.assert_array_equal(batch[:count], single)
        assert (rows.slots[row, count:] == -1).all()


def test_action_values_weigh_returns_by_the_kernel():
    memory = EpisodicMemory(SMALL)
    axes = np.eye(16)
    memory.add(axes[0], 0, 10.0)
    memory.add(axes[0] + axes[1], 0, 20.0)
    memory.add(axes[0], 1, 7.0)
    found = memory.action_values_batch(axes[:1])
    near, far = 1 / 0.001, 1 / (2 - np.sqrt(2) + 0.001)
    assert found.values[0, 0] == pytest.approx((10 * near + 20 * far) / (near + far), rel=1e-4)
    assert found.weights[0, 0] == pytest.approx(near + far, rel=1e-3)
    assert found.values[0, 1] == pytest.approx(7.0)
    assert np.isnan(found.values[0, 2]) and found.weights[0, 2] == 0.0


def test_opposite_embeddings_are_no_farther_apart_than_two():
    """In fp32 their cosine may be below -1."""
    memory = EpisodicMemory(dataclasses.replace(SMALL, features=100, capacity=1))
    for x in np.random.default_rng(0).normal(size=(300, 100)):
        memory.add(x, 1, 7.0)
        assert memory.action_values_batch(-x[None]).values[0, 1] == 7.0
        assert memory.best_actions(-x[None]) == 1


@pytest.mark.parametrize("within", [0.3, 0.8, 2.0])
def test_actions_are_those_of_the_largest_return_or_value_among_near_entries(walk, within):
    rng, steps = np.random.default_rng(0), walk(300, 16) + 0.01
    memory = EpisodicMemory(MemoryConfig(16, 5, merge_above=1.1))
    actions, returns = rng.integers(5, size=300), rng.normal(size=300)
    memory.add_batch(steps, actions, returns)
    queries = np.concatenate([walk(20, 16, seed=3), rng.normal(size=(5, 16))])
    best, valued = [], []
    for query in queries:
        cosines = steps @ query / np.linalg.norm(steps, axis=1) / np.linalg.norm(query)
        near = [i for i in np.argsort(-cosines)[:10] if 2.0 - 2.0 * cosines[i] <= within**2]
        best.append(actions[max(near, key=lambda i: returns[i])] if near else -1)
        weights = {i: 1.0 / (2.0 - 2.0 * cosines[i] + 1e-3) for i in near}
        means = {
            action: sum(weights[i] * returns[i] for i in near if actions[i] == action)
            / sum(weights[i] for i in near if actions[i] == action)
            for action in {actions[i] for i in near}
        }
        valued.append(max(means, key=means.get) if near else -1)
    assert memory.best_actions(queries, 10, within=within).tolist() == best
    assert memory.valued_actions(queries, 10, within=within).tolist() == valued
    assert best != valued and ((-1 in best) == (within < 2.0))


def test_empty_memory_knows_nothing():
    memory = EpisodicMemory(SMALL)
    assert len(memory.query(np.ones(16)).slots) == 0
    found = memory.action_values_batch(np.ones((1, 16)))
    assert np.isnan(found.values).all()
    assert memory.query_batch(np.ones((0, 16)), 4).slots.shape == (0, 4)


@pytest.mark.parametrize("scale", [1e-25, 1e-21, 1e-15, 1.0, 1e20, 2e38])
def test_length_of_an_embedding_counts_for_nothing(scale):
    memory = EpisodicMemory(SMALL)
    memory.add(np.full(16, scale), 0, 1.0)
    for query in (1.0, 1.0 / scale):
        cosine = memory.query(np.full(16, query)).cosines[0]
        np.testing.assert_allclose(cosine, 1.0, rtol=1e-6)


def test_embedding_of_zeros_is_near_to_nothing():
    memory = EpisodicMemory(SMALL)
    memory.add(np.zeros(16), 0, 1.0)
    memory.add(np.ones(16), 0, 1.0)
    np.testing.assert_array_equal(memory.query(np.zeros(16)).cosines, 0.0)


def recall(memory, queries):
    units = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    true = np.sort(units @ memory.storage.vectors[: len(memory)].T, axis=1)[:, -10]
    return float((memory.query_batch(queries, 10).cosines >= true[:, None] - 1e-6).mean())


def test_embeddings_that_all_point_one_way_are_told_apart(walk):
    config = MemoryConfig(64, 7, merge_above=1.1, candidates=500)
    memory, steps, queries = EpisodicMemory(config), walk(6_000), walk(100, seed=1)
    shift = np.float32(20.0)  # cosines between 0.99 and 1
    memory.add_batch(steps[:1_023] + shift, [0] * 1_023, [0.0] * 1_023)
    assert not memory.storage.centre.any()
    memory.add_batch(steps[1_023:] + shift, [0] * 4_977, [0.0] * 4_977)
    assert recall(memory, queries + shift) > 0.9
    memory.storage.centre[:] = 0.0
    for slot in range(len(memory)):
        memory.index.insert(slot)
    assert recall(memory, queries + shift) < 0.8


@pytest.mark.parametrize(
    ("config", "count"),
    [(SMALL, 100), (MemoryConfig(16, 3, capacity=1_100, merge_above=1.1), 1_200)],
    ids=["small", "with a centre"],
)
def test_loaded_memory_goes_on_like_the_one_saved(walk, tmp_path, config, count):
    memory = EpisodicMemory(config)
    steps = walk(count + 100, 16)
    memory.add_batch(steps[:count], np.arange(count) % 3, np.arange(float(count)))
    assert memory.evicted > 0
    assert (memory.merged == 0) == memory.storage.centre.any() == (config != SMALL)
    memory.query_batch(steps[:10])
    memory.save(tmp_path / "memory")
    memory.save(tmp_path / "memory")  # over the first
    loaded = EpisodicMemory.load(tmp_path / "memory")
    assert loaded.config == config and loaded.merged == memory.merged
    for each in (memory, loaded):
        each.add_batch(steps[count:], np.arange(100) % 3, np.arange(100.0))
    assert (loaded.merged, loaded.evicted) == (memory.merged, memory.evicted)
    for name, array in memory.storage.arrays().items():
        np.testing.assert_array_equal(loaded.storage.arrays()[name], array)
    want, found = memory.query_batch(steps), loaded.query_batch(steps)
    np.testing.assert_array_equal(found.slots, want.slots)
    np.testing.assert_array_equal(found.cosines, want.cosines)


def test_damaged_or_foreign_folder_is_refused_in_one_line(tmp_path):
    memory = EpisodicMemory(SMALL)
    memory.add(np.ones(16), 0, 1.0)
    folder = memory.save(tmp_path / "memory")
    file = folder / "vectors.npy.zst"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(UserError, match="damaged"):
        EpisodicMemory.load(folder)
    meta = json.loads((folder / "meta.json").read_text())
    assert all(name.endswith((".zst", ".json", ".msgpack")) for name in meta["files"])
    save_checkpoint(
        tmp_path / "other", agent="rainbow", config={}, counters={"env_steps": 0}, tensors={}
    )
    with pytest.raises(UserError, match="rainbow"):
        EpisodicMemory.load(tmp_path / "other")
    with pytest.raises(UserError, match=r"give a folder that EpisodicMemory\.save wrote"):
        EpisodicMemory.load(tmp_path / "missing")
    config = dataclasses.asdict(SMALL)
    kept = {"agent": "lsh_memory", "counters": {"env_steps": 0}, "tensors": {}}
    for capacity, says in ((40, "does not hold what its agent saves"), (10**15, "cannot be used")):
        folder = tmp_path / str(capacity)
        save_checkpoint(folder, config=config | {"capacity": capacity}, **kept)
        with pytest.raises(UserError, match=says):
            EpisodicMemory.load(folder)


def test_entries_do_not_fit_a_smaller_memory_or_another_embedding():
    memory = EpisodicMemory(SMALL)
    memory.add_batch(np.eye(16), [0] * 16, [0.0] * 16)
    for change in ({"capacity": 8}, {"features": 8}):
        other = EpisodicMemory(dataclasses.replace(SMALL, **change))
        with pytest.raises(ValueError, match="do not fit"):
            other.restore(memory.arrays())


@pytest.mark.parametrize(
    ("x", "action", "value"),
    [
        (np.ones(15), 0, 0.0),
        (np.ones((2, 16)), 0, 0.0),
        (np.full(16, np.nan), 0, 0.0),
        (np.full(16, np.inf), 0, 0.0),
        (np.ones(16), 3, 0.0),
        (np.ones(16), -1, 0.0),
        (np.ones(16), 0.5, 0.0),
        (np.ones(16), 0, float("nan")),
        (np.ones(16), 0, 1e300),  # in fp32 infinite
        (np.full(16, 1j), 0, 0.0),
        (np.full(16, "1"), 0, 0.0),
    ],
)
def test_what_cannot_be_remembered_is_refused(x, action, value):
    memory = EpisodicMemory(SMALL)
    with pytest.raises(ValueError):
        memory.add(x, action, value)
    with pytest.raises(ValueError):
        memory.add_batch([np.arange(16), x], [0, action], [0.0, value])
    with pytest.raises(ValueError):
        memory.add_batch(np.eye(16)[:2], [0, 0], [0.0])
    assert len(memory) == 0
    assert memory.add_batch([], [], []).tolist() == []


@pytest.mark.parametrize("value", [float("nan"), -1.0])
def test_what_is_no_cosine_or_distance_is_refused(value):
    with pytest.raises(UserError, match=r"merge_above .*: expected a finite number of 0 or more"):
        dataclasses.replace(SMALL, merge_above=value)
    for ask in (EpisodicMemory.action_values_batch, EpisodicMemory.best_actions):
        with pytest.raises(ValueError, match=r"within is .*, expected 0 or more"):
            ask(EpisodicMemory(SMALL), np.ones((1, 16)), within=value)


def test_no_more_neighbours_are_sought_than_there_is_room_for():
    memory = EpisodicMemory(SMALL)
    memory.add_batch(np.eye(16), [0] * 16, [0.0] * 16)
    assert len(memory.query(np.ones(16), 10**15).slots) == 16
    assert memory.query_batch(np.ones((1, 16)), 10**15).slots.shape == (1, 40)


def test_threads_may_share_a_memory(walk):
    memory, steps = EpisodicMemory(MemoryConfig(64, 1, merge_above=1.1)), walk(5_000)
    memory.add_batch(steps, [0] * 5_000, [0.0] * 5_000)
    compiling.wait()
    queries = steps[::50]
    want = [memory.query(x).slots.tolist() for x in queries]
    again = pickle.loads(pickle.dumps(memory))  # without its lock
    with ThreadPoolExecutor(4) as threads:
        for _ in range(10):
            assert [near.slots.tolist() for near in threads.map(again.query, queries)] == want


def test_no_neighbours_cannot_be_asked_for():
    with pytest.raises(ValueError, match="k is 0"):
        EpisodicMemory(SMALL).query(np.ones(16), 0)


def test_a_memory_needs_no_package_but_numba(tmp_path):
    done = in_python(f"""
import sys
from retro_agents.ground.errors import EXTRAS
sys.modules.update(dict.fromkeys({{*EXTRAS}} - {{"numba"}}))  # as if they were not installed
from lsh_memory import EpisodicMemory, MemoryConfig
memory = EpisodicMemory(MemoryConfig(3, 1))
memory.add([1, 2, 3], 0, 1.0)
assert len(EpisodicMemory.load(memory.save({str(tmp_path)!r})).query([1, 2, 3]).slots) == 1
""")
    assert done.returncode == 0, done.stderr
