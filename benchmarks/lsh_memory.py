"""The episodic memory beside exact search and other searches, on embeddings of real play.

`python -m benchmarks.lsh_memory` prints one JSON line per case and size, then limits with their
aims; `--write` stores them in benchmarks/results/lsh_memory.json. Embeddings are the 576 features
that the encoder of rainbow/pretrained gives while it plays nine training acts with its noise:
11,200 steps of each act to be remembered, in the order of play, and 60 later ones of each act as
queries. Smaller sizes take every tenth or hundredth. They are made once, in runs/benchmarks.

scan               the memory's default backend, nothing merged: searches of all that was added
scan-merging       with its filter of near-duplicates: what `add` costs in use, entries left
scan-full          the same with room for half: every further entry takes another's place
tables             datasketch's LSH tables
numpy              one matrix-vector product over everything
hnswlib, annoy, datasketch-hnsw   in an environment of their own, under runs/peers

Each case runs in a process of its own, on one thread, one entry and one query at a time (batch_us:
per query of a batch of all). Peers take their fastest setting whose recall@10 reaches 0.95. A case
that would take more CPU than --limit-s to fill stops there and says how many entries it has.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.cases import PART, Parser, above_zero, in_own_process, store_rows
from benchmarks.peers.environments import ROOT, peer_python
from benchmarks.peers.neighbours import K, embeddings, measure, subset
from experiment.errors import UserError, command

SIZES = (1_000, 10_000, 100_000)
OURS = {
    "scan": {"merge_above": 1.1},
    "scan-merging": {},
    "scan-full": {},
    "tables": {"merge_above": 1.1, "backend": "tables"},
}
PEERS = ("numpy", "hnswlib", "annoy", "datasketch-hnsw")
ACTS, REMEMBERED, LATER = 9, 11_200, 300  # steps per act; queries are the last 60
EMBEDDINGS = ROOT / "runs" / "benchmarks" / "embeddings.npz"
LIMITS = [
    ("scan", "recall_at_10", "at_least", 0.95),
    ("scan", "query_us", "at_most", 150.0),
    ("scan-merging", "insert_us", "at_most", 150.0),
    ("scan-full", "insert_us", "at_most", 150.0),
]
"""Case, metric and aim, at the largest size."""


class Memory:
    """`EpisodicMemory` as `measure` wants it."""

    settings: Sequence[int] = (0,)

    def __init__(self, features: int, capacity: int, actions: Any, **options: Any) -> None:
        from lsh_memory import EpisodicMemory, MemoryConfig

        self.actions = actions
        config = MemoryConfig(features, int(actions.max()) + 1, capacity, **options)
        warm = EpisodicMemory(config)  # compiles
        warm.add(np.ones(features), 0, 0.0)
        warm.query(np.ones(features), K)
        self.memory = EpisodicMemory(config)

    def add(self, number: int, vector: Any) -> None:
        self.memory.add(vector, int(self.actions[number]), float(number))

    def finish(self) -> None:
        pass

    def use(self, setting: int) -> None:
        pass

    def query(self, vector: Any) -> Any:
        return self.memory.query(vector, K).slots

    def query_batch(self, vectors: Any) -> Any:
        return self.memory.query_batch(vectors, K).slots


def run_here(case: str, entries: int, limit_s: float) -> dict[str, Any]:
    """Measure one of our cases in this process."""
    vectors, queries = embeddings(EMBEDDINGS, entries)
    actions = subset(np.load(EMBEDDINGS)["actions"], entries)
    capacity = entries // 2 if case == "scan-full" else entries
    searcher = Memory(vectors.shape[1], capacity, actions, **OURS[case])  # type: ignore[arg-type]
    row = measure(searcher, vectors, queries, limit_s=limit_s)
    if case in ("scan-merging", "scan-full"):  # its slots are not the numbers of the vectors
        memory = searcher.memory
        del row["recall_at_10"]
        row["bytes_per_entry"] = round(row["bytes_per_entry"] * entries / len(memory))
        row |= {"entries": len(memory), "merged": memory.merged, "evicted": memory.evicted}
    return row


def run_case(case: str, entries: int, limit_s: float) -> dict[str, Any]:
    """A case in a process of its own. UserError: it failed."""
    size = ["--entries", str(entries), "--limit-s", str(limit_s)]
    if case in PEERS:
        python = str(peer_python("ann", with_torch=False))
        line = [python, "-m", "benchmarks.peers.neighbours", case, str(EMBEDDINGS), *size]
    else:
        line = [sys.executable, "-m", "benchmarks.lsh_memory", "--case", case, *size]
    return {"case": case, "added": entries, **in_own_process(case, line, OMP_NUM_THREADS="1")}


def play_act(level: Any, steps: int) -> tuple[Any, Any]:
    """Embeddings float16 [steps,576] and actions [steps] of one act, played with noise."""
    import torch

    from experiment.checkpoint import load_agent
    from experiment.config import subset
    from rainbow.learner import q_values
    from retro_env import EnvConfig, make_env

    torch.set_num_threads(1)
    agent = load_agent(ROOT / "rainbow" / "pretrained")
    encoder, head = agent.net.encoder, agent.net.head
    env = make_env(level, subset(agent.config, EnvConfig))
    embeddings = np.zeros((steps, encoder.features), np.float16)
    actions = np.zeros(steps, np.int8)
    torch.manual_seed(0)
    obs, _ = env.reset(seed=0)
    episodes = 0
    for step in range(steps):
        with torch.no_grad():
            features = encoder(torch.from_numpy(obs[None]))
            values = q_values(head(features, head.sample_noise(1, agent.device)), agent.z)
        embeddings[step], actions[step] = features[0].numpy(), int(values.argmax())
        obs, _, terminated, truncated, _ = env.step(int(actions[step]))
        if terminated or truncated:
            episodes += 1
            obs, _ = env.reset(seed=episodes)
    env.close()
    return embeddings, actions


def make_embeddings() -> None:
    """Play acts from all of the training split and keep what the encoder saw."""
    from retro_env import parse_levels

    played = []
    levels = parse_levels("bramble-train")
    for level in levels[:: len(levels) // ACTS][:ACTS]:
        print(f"playing {level}", file=sys.stderr)
        played.append(play_act(level, REMEMBERED + LATER))
    EMBEDDINGS.parent.mkdir(parents=True, exist_ok=True)
    draft = EMBEDDINGS.with_suffix(".draft.npz")
    np.savez(
        draft,
        vectors=np.concatenate([embeddings[:REMEMBERED] for embeddings, _ in played]),
        actions=np.concatenate([actions[:REMEMBERED] for _, actions in played]),
        queries=np.concatenate([embeddings[-60:] for embeddings, _ in played]),
    )
    draft.rename(EMBEDDINGS)


def limits(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The aims beside what was measured at the largest size; none where a case did not run."""
    found = []
    for case, metric, sense, aim in LIMITS:
        for row in rows:
            if row["case"] == case and row["added"] == SIZES[-1]:
                found.append({"limit": f"{case} {metric}", "value": row[metric], sense: aim})
    return found


@command
def main() -> None:
    """The command line."""
    parser = Parser(
        prog="python -m benchmarks.lsh_memory",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--case", choices=[*OURS], help="measure one case, in this process")
    parser.add_argument("--entries", type=above_zero(int), default=SIZES[-1], help="of --case")
    parser.add_argument("--only", nargs="+", default=[*OURS, *PEERS], choices=[*OURS, *PEERS])
    help_ = "of CPU, to fill a case (120)"
    parser.add_argument("--limit-s", type=above_zero(float), default=120.0, help=help_)
    parser.add_argument("--write", action="store_true", help="store in results/lsh_memory.json")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(run_here(options.case, options.entries, options.limit_s)))
        return
    if options.write and len(set(options.only)) < len(OURS) + len(PEERS):
        raise UserError(PART)
    if not EMBEDDINGS.is_file():
        make_embeddings()
    rows = []
    for entries in SIZES:
        for case in options.only:
            rows.append(run_case(case, entries, options.limit_s))
            print(json.dumps(rows[-1]), flush=True)
    aims = limits(rows)
    for row in aims:
        print(json.dumps(row))
    if options.write:
        store_rows("lsh_memory", [*rows, *aims])


if __name__ == "__main__":
    main()
