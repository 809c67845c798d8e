"""Facts about how searches are measured, on small searches."""

import numpy as np
import pytest

from lab.benchmarks import lsh_memory
from lab.benchmarks.peers.environments import requirements
from lab.benchmarks.peers.neighbours import K, embeddings, exact_search, measure, recall, subset


def units(rows, seed=0):
    x = np.random.default_rng(seed).normal(size=(rows, 16)).astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def kth(vectors, queries):
    return np.sort(queries @ vectors.T, axis=1)[:, -K]


def test_exact_search_has_full_recall_and_each_miss_costs_its_share():
    vectors, queries = units(300), units(4, seed=1)
    order = np.argsort(-(queries @ vectors.T), axis=1)
    least = kth(vectors, queries)
    assert recall(queries, vectors, order[:, :K], least=least) == 1.0
    order[0, :3] = order[0, 100:103]
    assert recall(queries, vectors, order[:, :K], least=least) == pytest.approx(1 - 3 / 40)
    assert recall(queries, vectors, [[], [], [], []], least=least) == 0.0


def test_equal_vectors_may_stand_in_for_each_other():
    vectors = np.repeat(units(20), 20, axis=0)
    query = vectors[:1]
    answer = [list(range(10, 20))]  # others of the 20 that equal the query
    assert recall(query, vectors, answer, least=kth(vectors, query)) == 1.0


def test_a_search_is_filled_and_asked():
    row = measure(exact_search(16, 500), units(500), units(40, seed=1), limit_s=60.0)
    assert row["entries"] == 500 and row["recall_at_10"] == 1.0
    assert min(row["query_us"], row["insert_us"], row["batch_us"]) > 0.0


def test_filling_stops_at_its_limit_and_recall_is_of_what_went_in():
    row = measure(exact_search(16, 500), units(500), units(40, seed=1), limit_s=0.0)
    assert row["entries"] == K and row["recall_at_10"] == 1.0


def test_smaller_sizes_are_spread_over_all_play():
    rows = subset(np.arange(1_000), 10)
    assert rows[0] == 0 and rows[-1] == 999 and (np.diff(rows) == 111).all()


def test_embeddings_come_at_length_one(tmp_path):
    kept = {"vectors": 3 * units(100), "queries": np.zeros((2, 16))}
    np.savez(tmp_path / "kept.npz", **{name: x.astype(np.float16) for name, x in kept.items()})
    vectors, queries = embeddings(tmp_path / "kept.npz", 50)
    assert vectors.shape == (50, 16) and vectors.dtype == queries.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-5)
    assert not queries.any()


def test_limits_are_read_at_the_largest_size_only():
    row = {"recall_at_10": 0.9, "query_us": 100.0}
    repeats = [{"scan-1000": row, f"scan-{lsh_memory.SIZES[-1]}": row | {"query_us": 120.0}}]
    rows = lsh_memory.table(repeats, None)
    assert rows[0] == {"case": "scan", "added": 1000, **row}
    found = {row["limit"]: row for row in rows if "limit" in row}
    assert found["scan query_us"]["value"] == 120.0
    assert found["scan query_us"]["at_most"] == 150.0
    assert "scan-merging insert_us" not in found


def test_peers_are_pinned():
    lines = requirements("ann").read_text().splitlines()
    assert all("==" in line for line in lines if not line.startswith("#"))
