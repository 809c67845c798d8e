"""Facts about the cases, rows and settings of lab.benchmarks.rllib."""

import ast
import json
import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from lab.benchmarks import rllib
from lab.benchmarks.peers.environments import requirements
from lab.benchmarks.peers.stopwatch import Stopwatch, cpu_of_family
from retro_agents.ground.results import ROOT
from retro_agents.run.config import flat, to_dict

SMALL: dict[str, dict[str, Any]] = {
    "impala": {"num_envs": 4, "rollout_steps": 4, "batch_size": 8, "hidden": 8, "widths": "4,4,4"},
    "sac": {"learning_starts": 32, "batch_size": 8, "hidden": 8, "widths": "4,4,4"},
    "rainbow": {"learning_starts": 600, "batch_size": 8, "hidden": 8, "widths": "4,4,4"},
}


def test_ratios_are_of_the_faster_and_of_the_cheaper_number_of_threads() -> None:
    repeat = {
        "sac-1": {"steps_per_second": 20.0, "cpu_ms_per_step": 40.0},
        "sac-2": {"steps_per_second": 30.0, "cpu_ms_per_step": 50.0},
        "rllib_sac-1": {"steps_per_second": 5.0, "cpu_ms_per_step": 160.0},
        "rllib_sac-2": {"steps_per_second": 6.0, "cpu_ms_per_step": 200.0},
    }
    assert [row for row in rllib.table([repeat], Namespace()) if "ratio" in row] == [
        {"ratio": "sac/rllib_sac", "value": 5.0, "all": [5.0], "at_least": 3.0},
        {"ratio": "rllib_sac_cpu/sac_cpu", "value": 4.0, "all": [4.0]},
    ]


@pytest.mark.parametrize("agent", rllib.AGENTS)
def test_peer_is_told_this_projects_values(agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_peer_reads_values_that_the_agent_has(agent: str) -> None:
    source = ast.parse(
        (ROOT / "lab" / "benchmarks" / "peers" / "rllib.py").read_text(encoding="utf-8")
    )
    found = {part.name: part for part in source.body if isinstance(part, ast.FunctionDef)}
    read = {
        ast.literal_eval(node.slice)
        for name in FUNCTIONS[agent]
        for node in ast.walk(found[name])
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "values"
    }
    assert {"num_envs", "gamma", "learning_rate"} <= read
    own = flat(to_dict(rllib.shared_config(agent, 1)))
    assert read <= own.keys()


@pytest.mark.parametrize("agent", rllib.AGENTS)
def test_run_is_timed_in_whole_blocks(agent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = []

    class Watch(Stopwatch):
        def tick(self, steps: int = 0) -> bool:
            ticks.append(steps)
            return super().tick(steps)

    monkeypatch.setitem(rllib.SHARED, agent, rllib.SHARED[agent] | SMALL[agent])
    monkeypatch.setitem(rllib.WARM_UP, agent, 48)
    monkeypatch.setattr(rllib, "Stopwatch", Watch)
    row = rllib.run_here(f"{agent}-1", Namespace(seconds=0.001))
    assert min(row["steps_per_second"], row["cpu_ms_per_step"]) > 0.0
    assert set(ticks) == {{"impala": 16, "sac": 32, "rainbow": 48}[agent]}


def test_cpu_time_is_of_children_too() -> None:
    text = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    before = cpu_of_family()
    with subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout
        child.stdout.readline()
        assert cpu_of_family() - before >= 0.25
        child.communicate(b"\n")


def test_peer_has_the_packages_of_this_project() -> None:
    def pins(path: Path) -> set[str]:
        return set(re.findall(r"^\S+==\S+$", path.read_text(encoding="utf-8"), flags=re.MULTILINE))

    both = pins(ROOT / "constraints.txt") & pins(requirements("rllib"))
    for package in ("numpy", "envpool", "msgspec", "docstring_parser", "PyYAML"):
        assert any(pin.startswith(f"{package}==") for pin in both), package
