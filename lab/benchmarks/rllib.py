"""IMPALA, SAC and Rainbow beside RLlib's IMPALA, SAC and DQN: coinrun, equally many samples a step.

Cases and aims: docs/contribute/benchmarks.md. Both sides have the values of the presets `procgen`
(IMPALA), `procgen-entry` (SAC) and `ape-x` (Rainbow), but for `SHARED`. RLlib's design differs: it
computes in fp32, even if a CPU has bf16; its SAC has an encoder for the policy and one
for each critic, ours one for all; its DQN has one value for all atoms, and the same epsilon
everywhere; its IMPALA plays in two processes, ours in the one that learns.
"""

import json
from functools import partial
from importlib import import_module
from math import lcm
from typing import Any

from lab.benchmarks import cases
from lab.benchmarks.cases import Options, Repeat, Row, Rows, peer_python
from lab.benchmarks.parts import preset_config, run_until
from lab.benchmarks.peers.stopwatch import Stopwatch
from retro_agents.games.families import make_for
from retro_agents.run.config import flat, replaced, to_dict

AGENTS = {"impala": "procgen", "sac": "procgen-entry", "rainbow": "ape-x"}
"""Agent -> its preset."""
LEARNING_STARTS = 432
SHARED: dict[str, dict[str, Any]] = {
    "impala": {},
    "sac": {"learning_starts": LEARNING_STARTS},
    # RLlib's DQN does not stack frames that are apart, nor give new transitions priorities.
    "rainbow": {"learning_starts": LEARNING_STARTS, "frames": "0", "initial_priorities": False},
}
"""Agent -> values that replace the preset's, on both sides."""
WARM_UP = {"impala": 1_024, "sac": 480, "rainbow": 480}
"""Agent -> steps before the clock starts, which include the first updates."""
CASES = [f"{side}{agent}-{n}" for agent in AGENTS for side in ("", "rllib_") for n in cases.THREADS]
_, SUFFIX = cases.precisions()
AIM = 3.0


def shared_config(agent: str, threads: int) -> Any:
    """A preset, with the values that both sides have instead."""
    parse = import_module(f"{agent}.train").parse
    config = preset_config(parse, AGENTS[agent], torch_threads=threads)
    return replaced(config, **SHARED[agent])


def block_of(config: Any) -> int:
    """Agent steps after which everything due has been learned: whole rollouts, or as many steps as
    whole updates need."""
    rollout, update = (getattr(config, name, 1) for name in ("rollout_steps", "update_every"))
    return lcm(config.run.num_envs * rollout, update)


def run_here(case: str, options: Options) -> Row:
    """Run an agent's `train.run` unchanged, in this process."""
    agent, threads = case.split("-")
    config = shared_config(agent, int(threads))
    clock, block = Stopwatch(options.seconds, WARM_UP[agent]), block_of(config)

    def over(steps: int) -> bool:
        return steps % block == 0 and clock.tick(block)

    run_until(over, import_module(f"{agent}.train").run, make_for(config), config)
    return clock.result()


def peer_line(agent: str, threads: int, options: Options) -> list[str]:
    """The command that measures RLlib's agent."""
    values = json.dumps(flat(to_dict(shared_config(agent, threads))))
    return [
        *(str(peer_python("rllib")), "-m", "lab.benchmarks.peers.rllib", agent),
        *("--seconds", str(options.seconds), "--threads", str(threads)),
        *("--warm-up", str(WARM_UP[agent]), "--values", values),
    ]


PEERS = {
    f"rllib_{agent}-{n}": partial(peer_line, agent, n) for agent in AGENTS for n in cases.THREADS
}


def table(repeats: list[Repeat], options: Options) -> Rows:
    """Medians per case, then ratios within repeats: by wall-clock time, with each side's faster
    number of threads, and the aim; by CPU time, with the cheaper number."""
    rows = cases.median_cases(repeats)
    for agent in AGENTS:
        ours, peer = f"{agent}-", f"rllib_{agent}-"
        rows += cases.ratio_rows(repeats, [(ours, peer, AIM)])
        rows += cases.ratio_rows(repeats, [(ours, peer, None)], cpu=True)
    return rows


one = {"OMP_NUM_THREADS": "1"}  # unless set otherwise
more: Any = {"here": run_here, "peers": PEERS, "table": table, "environment": one}
main = cases.benchmark("rllib", __doc__, CASES, **more, suffix=SUFFIX, repeats=1, seconds=15.0)

if __name__ == "__main__":
    main()
