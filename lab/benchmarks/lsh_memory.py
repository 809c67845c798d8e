"""The episodic memory compared with exact search and other searches, on embeddings of real play.

Cases and aims: docs/contribute/benchmarks.md.
"""

import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lab.benchmarks import cases
from lab.benchmarks.cases import Options, Repeat, Row, Rows
from lab.benchmarks.peers.neighbours import K, Searcher, embeddings, measure, subset
from retro_agents.ground.files import file_hash
from retro_agents.ground.results import ROOT
from retro_agents.run.checkpoint import latest_checkpoint

SIZES = (1_000, 10_000, 100_000)
OURS: dict[str, Any] = {
    "scan": {"merge_above": 1.1},
    "scan-merging": {},
    "scan-full": {},
    "tables": {"merge_above": 1.1, "backend": "tables"},
}
PEERS = ("numpy", "hnswlib", "annoy", "datasketch-hnsw")
CASES = [f"{name}-{entries}" for entries in SIZES for name in (*OURS, *PEERS)]
ACTS, REMEMBERED, LATER = 9, 11_200, 300  # steps per act; queries are the last 60
WEIGHTS = ROOT / "rainbow" / "pretrained"
LIMITS = [
    ("scan", "recall_at_10", "at_least", 0.95),
    ("scan", "query_us", "at_most", 150.0),
    ("scan-merging", "insert_us", "at_most", 150.0),
    ("scan-full", "insert_us", "at_most", 150.0),
]
"""Case, metric and aim, at the largest size."""


def run_here(case: str, options: Options) -> Row:
    """Measure one of our cases in this process."""
    from lsh_memory import EpisodicMemory, MemoryConfig, compiling

    path = made_embeddings()
    case, _, size = case.rpartition("-")
    entries = int(size)
    vectors, queries = embeddings(path, entries)
    actions = subset(np.load(path)["actions"], entries)
    capacity = entries // 2 if case == "scan-full" else entries
    config = MemoryConfig(vectors.shape[1], int(actions.max()) + 1, capacity=capacity, **OURS[case])
    memory = EpisodicMemory(config)
    compiling.wait()
    searcher = Searcher(
        add=lambda number, vector: memory.add(vector, int(actions[number]), float(number)),
        query=lambda vector: memory.query(vector, K).slots,
        batch=lambda vectors: memory.query_batch(vectors, K).slots,
    )
    row = measure(searcher, vectors, queries, limit_s=options.limit_s)
    if case in ("scan-merging", "scan-full"):  # its slots are not the numbers of the vectors
        del row["recall_at_10"]
        row["bytes_per_entry"] = round(row["bytes_per_entry"] * entries / len(memory))
        row |= {"entries": len(memory), "merged": memory.merged, "evicted": memory.evicted}
    return row


def peer_command(name: str, entries: int, options: Options) -> list[str]:
    """The command that measures a peer."""
    path = str(made_embeddings())
    python = str(cases.peer_python("ann", with_torch=False))
    size = ["--entries", str(entries), "--limit-s", str(options.limit_s)]
    return [python, "-m", "lab.benchmarks.peers.neighbours", name, path, *size]


def play_act(level: Any, steps: int) -> tuple[Any, Any]:
    """Embeddings float16 [steps,576] and actions [steps] of one act, played with noise."""
    import torch

    from rainbow.agent import load
    from rainbow.learner import q_values
    from retro_agents.games.retro.make import make_env

    torch.set_num_threads(1)
    agent: Any = load(WEIGHTS)
    encoder, head = agent.net.encoder, agent.net.head
    env = make_env(level, agent.config.env)
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


def made_embeddings() -> Path:
    """The file of the encoder's outputs on acts of the training split, which are played once."""
    from retro_agents.games.retro.levels import parse_levels

    meta = latest_checkpoint(WEIGHTS) / "meta.json"  # it has a hash of every other file
    name = f"embeddings-{file_hash(meta)[:12]}-{ACTS}-{REMEMBERED}.npz"
    path = ROOT / "runs" / "benchmarks" / name
    if path.is_file():
        return path
    played = []
    levels = parse_levels("bramble-train")
    for level in levels[:: len(levels) // ACTS][:ACTS]:
        print(f"playing {level}", file=sys.stderr)
        played.append(play_act(level, REMEMBERED + LATER))
    path.parent.mkdir(parents=True, exist_ok=True)
    draft, (vectors, actions) = path.with_suffix(".draft.npz"), zip(*played, strict=True)
    parts: Any = {"vectors": [v[:REMEMBERED] for v in vectors]}
    parts |= {"queries": [v[-60:] for v in vectors], "actions": [a[:REMEMBERED] for a in actions]}
    arrays: Any = {name: np.concatenate(part) for name, part in parts.items()}
    np.savez(draft, **arrays)
    return draft.rename(path)


def table(repeats: list[Repeat], options: Options) -> Rows:
    """One row per case and size, and the aims beside the results at the largest size."""
    rows: Rows = []
    for row in cases.median_cases(repeats):
        case, _, entries = row.pop("case").rpartition("-")
        rows.append({"case": case, "added": int(entries), **row})
    ending = f"-{SIZES[-1]}"
    largest = [{c.removesuffix(ending): row for c, row in repeat.items()} for repeat in repeats]
    return [*rows, *cases.limit_rows(largest, LIMITS)]


main = cases.benchmark(
    *("lsh_memory", __doc__, CASES),
    here=run_here,
    peers={f"{p}-{n}": partial(peer_command, p, n) for n in SIZES for p in PEERS},
    table=table,
    repeats=1,
    environment={"OMP_NUM_THREADS": "1"},
    limit_s=120.0,
)

if __name__ == "__main__":
    main()
