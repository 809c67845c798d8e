"""Searches for nearest neighbours by angle, ours and others', measured alike.

Runs in the environment of the peers too: imports NumPy, and each searcher where it is asked for.
"""

import argparse
import json
import os
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

K = 10
WANTED_RECALL = 0.95


@dataclass
class Searcher:
    """What is measured. Vectors are float32 [F] of length 1 and go in one by one."""

    add: Callable[[int, Any], Any]
    """A vector and its number."""
    query: Callable[[Any], Any]
    """The numbers of the K nearest."""
    batch: Callable[[Any], Any] | None = None
    """The same of many; none: it asks one by one."""
    finish: Callable[[], Any] = lambda: None
    """What must be done when all are in."""
    use: Callable[[int], Any] = lambda setting: None
    settings: Sequence[int] = (0,)
    """What trades recall for time, the fastest first; one value: it has none, or its default."""


def hnswlib_search(features: int, size: int) -> Searcher:
    """hnswlib, one thread."""
    import hnswlib

    index = hnswlib.Index("cosine", features)
    index.init_index(max_elements=size, M=16, ef_construction=100, random_seed=0)
    index.set_num_threads(1)
    return Searcher(
        add=lambda number, vector: index.add_items(vector[None], [number]),
        query=lambda vector: index.knn_query(vector[None], K)[0][0],
        batch=lambda vectors: index.knn_query(vectors, K)[0],
        use=index.set_ef,
        settings=(10, 20, 40, 80, 160, 320, 640),
    )


def annoy_search(features: int, size: int) -> Searcher:
    """annoy: its trees are built when all vectors are in, and take no more after that."""
    from annoy import AnnoyIndex

    index, chosen = AnnoyIndex(features, "angular"), [0]
    index.set_seed(1)
    return Searcher(
        add=index.add_item,
        query=lambda vector: index.get_nns_by_vector(vector, K, chosen[0]),
        finish=lambda: index.build(20, n_jobs=1),
        use=lambda setting: chosen.__setitem__(0, setting),
        settings=(100, 300, 1_000, 3_000, 10_000, 30_000, 100_000),
    )


def datasketch_search(features: int, size: int) -> Searcher:
    """datasketch's HNSW, written in Python."""
    from datasketch import HNSW

    index, chosen = HNSW(lambda x, y: 1.0 - float(x @ y), m=16, ef_construction=50, seed=0), [0]
    return Searcher(
        add=index.insert,
        query=lambda vector: [key for key, _ in index.query(vector, k=K, ef=chosen[0])],
        use=lambda setting: chosen.__setitem__(0, setting),
        settings=(10, 20, 40, 80, 160),
    )


def exact_search(features: int, size: int) -> Searcher:
    """NumPy: one matrix-vector product over everything."""
    vectors, count = np.zeros((size, features), np.float32), [0]

    def add(number: int, vector: Any) -> None:
        vectors[number], count[0] = vector, number + 1

    def query(vector: Any) -> Any:
        cosines = vectors[: count[0]] @ vector
        best = np.argpartition(cosines, -K)[-K:]
        return best[np.argsort(-cosines[best])]

    def batch(queries: Any) -> Any:
        return np.argpartition(queries @ vectors[: count[0]].T, -K, axis=1)[:, -K:]

    return Searcher(add, query, batch)


PEERS: dict[str, Callable[[int, int], Searcher]] = {
    "hnswlib": hnswlib_search,
    "annoy": annoy_search,
    "datasketch-hnsw": datasketch_search,
    "numpy": exact_search,
}


def recall(queries: Any, vectors: Any, answers: Sequence[Sequence[int]], *, least: Any) -> float:
    """Share of the K true neighbours found. An answer as near as the K-th true one is a true one,
    so that equal vectors may stand in for each other. least [Q]: cosines of the K-th."""
    found = [
        (np.sort(vectors[list(answer)] @ query)[-K:] >= bound - 1e-5).sum()
        for query, answer, bound in zip(queries, answers, least, strict=True)
    ]
    return float(np.sum(found)) / (K * len(queries))


def embeddings(path: Path, entries: int) -> tuple[Any, Any]:
    """Vectors [entries,F] and queries [Q,F] in a file of lab.benchmarks.lsh_memory, at length 1."""
    data = np.load(path)
    found = [subset(data["vectors"], entries), data["queries"]]
    vectors, queries = (rows.astype(np.float32) for rows in found)
    for rows in (vectors, queries):
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return vectors, queries


def subset(rows: Any, count: int) -> Any:
    """That many rows, evenly spread and in their order."""
    return rows[np.linspace(0, len(rows) - 1, count).astype(int)]


def resident() -> int:
    """Bytes of memory in use by this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def timed(
    function: Any, rows: Sequence[Any], *, clock: Callable[[], float] = time.perf_counter
) -> tuple[list[Any], list[float]]:
    """Results of function(*row), and microseconds of each call."""
    results, times = [], []
    for row in rows:
        start = clock()
        results.append(function(*row))
        times.append(1e6 * (clock() - start))
    return results, times


def measure(searcher: Searcher, vectors: Any, queries: Any, *, limit_s: float) -> dict[str, Any]:
    """Fill a searcher and ask it. Insertion is timed over the last tenth, plus its share of
    `finish`. What takes long enough to be interrupted is timed by the process's own time.

    Only the first that fit in limit_s seconds of CPU go in: `entries` says how many.
    """
    before, start, inserts = resident(), time.process_time(), list[float]()
    for number, vector in enumerate(vectors):
        inserts += timed(searcher.add, [(number, vector)])[1]
        if number + 1 >= K and time.process_time() - start > limit_s:
            break
    size = len(inserts)
    finishing = timed(searcher.finish, [()], clock=time.process_time)[1][0]
    used = resident() - before
    vectors = vectors[:size]
    least = np.partition(queries @ vectors.T, -K, axis=1)[:, -K]
    rows = [(query,) for query in queries]
    for setting in searcher.settings:
        searcher.use(setting)
        timed(searcher.query, rows[:20])
        answers, times = timed(searcher.query, rows)
        reached = recall(queries, vectors, answers, least=least)
        if reached >= WANTED_RECALL:
            break
    ask = searcher.batch or (lambda vectors: [searcher.query(vector) for vector in vectors])
    _, batch = timed(ask, [(queries,)] * 3, clock=time.process_time)
    return {
        "entries": size,
        "recall_at_10": round(reached, 4),
        "query_us": round(statistics.median(times), 1),
        "query_p95_us": round(float(np.percentile(times, 95)), 1),
        "batch_us": round(min(batch) / len(queries), 1),
        "insert_us": round(statistics.median(inserts[-max(1, size // 10) :]) + finishing / size, 1),
        "bytes_per_entry": round(used / size),
        "setting": setting,
    }


def main() -> None:
    """Measure one peer and print its row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("vectors", type=Path, help=".npz with vectors and queries")
    parser.add_argument("--entries", type=int, required=True)
    parser.add_argument("--limit-s", type=float, required=True)
    options = parser.parse_args()
    vectors, queries = embeddings(options.vectors, options.entries)
    searcher = PEERS[options.peer](vectors.shape[1], len(vectors))
    print(json.dumps(measure(searcher, vectors, queries, limit_s=options.limit_s)))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
