"""What peers share with this project, and how searches are measured."""

import ast
import json
import re
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

from lab.benchmarks import procgen, rllib
from lab.benchmarks.peers.neighbours import K, embeddings, exact_search, measure, recall, subset
from lab.benchmarks.peers.train_procgen import EASY
from ppo2.train import parse
from retro_agents.ground.errors import UserError
from retro_agents.ground.results import ROOT
from retro_agents.run.config import flat, to_dict

SETTINGS = ("numpy", "msgspec", "docstring_parser", "PyYAML")
"""Packages of the environment's settings."""


@pytest.mark.parametrize(
    ("peer", "packages"),
    [
        ("tianshou", "torch stable-retro gymnasium opencv-python-headless numba"),
        ("rllib", "envpool"),
    ],
)
def test_peers_have_the_packages_that_the_comparison_rests_on(peer, packages):
    def pins(path):
        return set(re.findall(r"^\S+==\S+$", path.read_text(encoding="utf-8"), flags=re.MULTILINE))

    folder = ROOT / "lab" / "benchmarks" / "peers"
    both = pins(ROOT / "constraints.txt") & pins(folder / f"{peer}.txt")
    for package in (*SETTINGS, *packages.split()):
        assert any(pin.startswith(f"{package}==") for pin in both), package
    lines = (folder / "ann.txt").read_text().splitlines()
    assert all("==" in line for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("agent", rllib.AGENTS)
def test_rllib_is_told_this_projects_values(agent, monkeypatch):
    monkeypatch.setattr(rllib, "peer_python", lambda name: Path(f"/{name}/python"))
    line = rllib.PEERS[f"rllib_{agent}-2"](Namespace(seconds=3.0))
    assert line[:4] == ["/rllib/python", "-m", "lab.benchmarks.peers.rllib", agent]
    told = dict(zip(line[4::2], line[5::2], strict=True))
    values = json.loads(told.pop("--values"))
    warm_up = str(rllib.WARM_UP[agent])
    assert told == {"--seconds": "3.0", "--threads": "2", "--warm-up": warm_up}
    assert values == json.loads(json.dumps(flat(to_dict(rllib.shared_config(agent, 2)))))


FUNCTIONS = {"impala": ["impala"], "sac": ["sac", "off_policy"], "rainbow": ["dqn", "off_policy"]}
"""Agent -> the peer's functions that read its values."""


@pytest.mark.parametrize("agent", FUNCTIONS)
def test_rllib_reads_values_that_the_agent_has(agent):
    file = ROOT / "lab" / "benchmarks" / "peers" / "rllib.py"
    source = ast.parse(file.read_text(encoding="utf-8"))
    found = {part.name: part for part in source.body if isinstance(part, ast.FunctionDef)}
    read = {
        ast.literal_eval(node.slice)
        for name in FUNCTIONS[agent]
        for node in ast.walk(found[name])
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "values"
    }
    assert {"num_envs", "gamma", "learning_rate"} <= read
    assert read <= flat(to_dict(rllib.shared_config(agent, 1))).keys()


def test_train_procgen_has_the_values_of_the_preset():
    config = parse(["--preset", "procgen-easy"])
    assert {
        "epoch": config.epochs,
        "gamma": config.gamma,
        "lmbda": config.lam,
        "learning_rate": config.learning_rate,
        "grad_clip_norm": config.gradient_norm,
        "eps_clip": config.clip,
        "value_coef": config.value_weight,
        "entropy_coef": config.entropy_weight,
        "normalize_adv": config.normalise == "rollout",
        "use_gae": True,
    } == EASY


def test_stable_baselines3_is_told_the_same_on_procgen():
    sb3_ppo = pytest.importorskip("lab.benchmarks.sb3_ppo")

    def config_of(case):
        line = procgen.line(case, 3, "FOLDER", Namespace())
        return parse(line[line.index("--preset") :])

    told, ours = sb3_ppo.settings(config_of("sb3")), config_of("ppo2-fp32")
    assert told["batch_size"] == procgen.ROWS == ours.run.num_envs * ours.rollout_steps
    assert told["n_epochs"] == ours.epochs == 3
    assert (ours.minibatches, ours.run.timesteps) == (1, 3 * procgen.ROWS)
    assert ours.computing.precision == "fp32"


@pytest.mark.parametrize("case", ["cleanrl", "train-procgen"])
def test_a_missing_checkout_is_one_line(case, tmp_path):
    for folder in (None, tmp_path):
        with pytest.raises(UserError, match=f"--{case}: expected the folder"):
            procgen.line(case, 1, "FOLDER", Namespace(cleanrl=folder, train_procgen=folder))


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
    alike = np.repeat(units(20), 20, axis=0)  # equal vectors may stand in for each other
    answer = [list(range(10, 20))]
    assert recall(alike[:1], alike, answer, least=kth(alike, alike[:1])) == 1.0


@pytest.mark.parametrize(("limit_s", "entries"), [(60.0, 500), (0.0, K)])
def test_a_search_is_filled_to_its_limit_and_recall_is_of_what_went_in(limit_s, entries):
    row = measure(exact_search(16, 500), units(500), units(40, seed=1), limit_s=limit_s)
    assert row["entries"] == entries and row["recall_at_10"] == 1.0
    assert min(row["query_us"], row["insert_us"], row["batch_us"]) > 0.0


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
