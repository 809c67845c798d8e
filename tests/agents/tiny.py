"""Every agent package, and runs of each that take a moment."""

import importlib
import sys
from pathlib import Path

import numpy as np
import torch

from retro_agents.run.agents import find
from retro_agents.run.command_line import load_config
from tests.conftest import Corridor
from tests.runs import ROOT

AGENTS = sorted(path.parent.name for path in ROOT.glob("*/agent.py"))
OUTSIDE = ROOT / "retro_agents" / "template"
"""The folder of an agent that is not the project's own, such as others install."""
sys.path += [str(OUTSIDE), str(Path(__file__).parent / "outside")]
LEVEL = "BrambleDash-Genesis-v0:BrambleWood.Act1"
FLAGS = [
    *("--levels", f"{LEVEL},{LEVEL[:-1]}2", "--num-envs", "2", "--timesteps", "60"),
    *("--image-height", "36", "--image-width", "36"),
    *("--device", "cpu", "--checkpoint-every", "16", "--seed", "0"),
]
NET = ["--encoder", "data-efficient", "--hidden", "16"]
"""Flags of agents with a net of their own: all but JERK, and ES if it starts from another's."""
SMALL = {"image_height": 36, "image_width": 36, "hidden": 16, "encoder": "data-efficient"}
"""A config of these agents."""
TOO = {
    "es": [
        *("--layer", "head", "--levels-per-generation", "2"),
        *("--episode-steps", "5", "--pairs", "2", "--checkpoint-every", "1", "--timesteps", "400"),
    ],
    "impala": [
        *("--rollout-steps", "6", "--batch-size", "12", "--rotate-every", "20"),
        *("--learning-rate", "1e-3"),
    ],
    "jerk": [*("--log-every", "10", "--episode-steps", "12")],
    "ppo2": ["--rollout-steps", "6", "--minibatches", "2", "--rotate-every", "20"],
    "rainbow": [
        *("--learning-starts", "10", "--replay-size", "100", "--log-every", "10"),
        *("--target-every", "20", "--rotate-every", "20"),
    ],
    "sac": [
        *("--learning-starts", "10", "--replay-size", "100", "--log-every", "10"),
        *("--batch-size", "8", "--rotate-every", "20"),
    ],
    "trpo": ["--rollout-steps", "6", "--minibatches", "2", "--rotate-every", "20"],
}
"""What an agent needs besides, to learn and to end episodes within so few steps."""
PARTS = {"jerk": ["--preset", "mutating", "--memory-share", "0.25", "--write-replay"]}
"""What an agent can have besides, where no preset is asked for."""


def words(agent, *flags):
    """The arguments of a tiny run's command."""
    parts = [] if "--preset" in flags else PARTS.get(agent, [])
    net = [] if agent in ("jerk", "tally") or (agent == "es" and "--init" in flags) else NET
    net = ["--init", "", *net] if agent == "es" and net else net
    return [*FLAGS, *net, *TOO.get(agent, []), *parts, *map(str, flags)]


def tiny(agent, *flags):
    """A tiny run's config."""
    package = find(agent)
    return load_config(package.Config, words(agent, *flags), presets=package.PRESETS, command="")


def untrained(agent, **flags):
    """An agent with a small net, the same each time."""
    torch.manual_seed(0)
    return find(agent).build({**SMALL, **flags})


def images(count):
    """Random observations [N,4,36,36]."""
    return np.random.default_rng(0).integers(256, size=(count, 4, 36, 36), dtype=np.uint8)


def train(agent, run_dir, *flags, init=None, envs=None):
    """A tiny run, in the corridor unless it is told where -> the agent."""
    return find(agent).run(envs or Corridor(2), tiny(agent, *flags), run_dir, init)


def main(agent, arguments):
    """A trainer's command, in this process."""
    importlib.import_module(f"{agent}.train").main([*map(str, arguments)])
