"""Speed of Rainbow: its parts, the whole relative to the parts, and two peers.

Cases, aims and the bound: docs/contribute/benchmarks.md.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.benchmarks import cases, parts
from lab.benchmarks.cases import Options, Repeat, Row, Rows
from lab.benchmarks.peers import stopwatch
from lab.benchmarks.peers.neighbours import resident
from lab.benchmarks.peers.stopwatch import BATCH_SIZE, STEPS_PER_UPDATE, WORKERS, Stopwatch
from rainbow.agent import RainbowAgent, make_net
from rainbow.config import RainbowConfig
from rainbow.learner import Learner
from rainbow.train import parse, run
from retro_agents.experience.off_policy import make_replay
from retro_agents.experience.replay import Replay
from retro_agents.games.retro.config import EnvConfig
from retro_agents.ground.device import prepare_device
from retro_agents.ground.seeding import seed_everything

PRECISIONS, SUFFIX = cases.precisions()
SETTINGS = [f"{precision}-{threads}" for precision in PRECISIONS for threads in cases.THREADS]
PEERS: dict[str, tuple[str, str, list[str]]] = {
    "qrdqn": ("", "sb3_qrdqn", []),
    "qrdqn51": ("", "sb3_qrdqn", ["--quantiles", "51"]),
    "qrdqnsmall": ("", "sb3_qrdqn", ["--small"]),
    "tianshou": ("tianshou", "tianshou_rainbow", []),
}
"""Name -> its environment ("": this one), module and further arguments."""
CASES = [
    *("priorities", "replay", "env"),
    *(f"{name}-{setting}" for name in ("learner", "rainbow", "laptop") for setting in SETTINGS),
    *(f"{peer}-{threads}" for peer in PEERS for threads in cases.THREADS),
]
RATIOS: list[tuple[str, str, float | None]] = [
    ("rainbow-", "qrdqn-", 2.5),
    ("rainbow-", "qrdqn51-", 2.5),
    ("rainbow-fp32-", "qrdqn-", None),
    ("laptop-", "qrdqn-", 2.5),
    ("laptop-", "qrdqnsmall-", None),
    ("rainbow-", "tianshou-", None),
    ("rainbow-fp32-", "tianshou-", None),
]
"""Cases, the cases in the denominator (the fastest of each), and the aim."""
RATIOS = [ratio for ratio in RATIOS if not (SUFFIX and ratio[0].endswith("-fp32-"))]
BOUND_AIM = 0.9
LIMITS = [
    ("replay", "bytes_per_transition", "at_most", 7300.0),
    ("priorities", "sample_and_update_ms", "at_most", 0.3),
]
LEAVES = 1 << 20
FILL = 100_000
EPISODE = 250
"""Agent steps of the synthetic episodes that fill a replay: about as long as random play lasts."""


def shared_config(preset: str, **setting: Any) -> RainbowConfig:
    """A preset, with the values that every agent in this comparison shares."""
    config: RainbowConfig = parts.preset_config(
        parse,
        preset,
        batch_size=BATCH_SIZE,
        update_every=STEPS_PER_UPDATE,
        replay_size=stopwatch.REPLAY_SIZE,
        learning_starts=stopwatch.LEARNING_STARTS,
        rotate_every=0,
        **setting,
    )
    return config


def fill(replay: Replay, steps: int) -> Callable[[], None]:
    """Play synthetic episodes of EPISODE steps for `steps` agent steps in total; the returned
    function plays one more."""
    random = np.random.default_rng(0)
    obs = random.integers(0, 256, (16, WORKERS, len(replay.steps_back), 84, 84), np.uint8)
    actions, rewards = np.zeros(WORKERS, np.int64), np.ones(WORKERS, np.float32)
    never, count = np.zeros(WORKERS, np.bool_), 0

    def step() -> None:
        nonlocal count
        count += 1
        ended = np.full(WORKERS, count % EPISODE == 0)
        now, following = obs[count % 16], obs[(count + 1) % 16]
        replay.add(now, actions, rewards, ended, never, list(following))

    for _ in range(steps // WORKERS):
        step()
    return step


def draw_timed(replay: Replay, losses: NDArray[np.float32], seconds: float) -> Row:
    """The mean time of drawing a batch and setting its priorities."""
    random = np.random.default_rng(0)

    def draw() -> None:
        batch = replay.sample(BATCH_SIZE, beta=0.4, rng=random)
        replay.update_priorities(batch.indices, losses)

    return parts.timed(draw, seconds=seconds, name="sample_and_update")


def priorities(seconds: float) -> Row:
    """The cost of prioritising with 2^20 leaves: drawing indices and weights, and new priorities.

    The replay has frames of 2 × 2 pixels, so that gathering them costs next to nothing: it is not
    part of the aim, and `replay` measures it.
    """
    shape: Any = {"frame_shape": (1, 2, 2), "steps_back": (3, 2, 1, 0)}
    replay = Replay(LEAVES, WORKERS, n_step=3, gamma=0.99, alpha=0.5, **shape)
    random = np.random.default_rng(0)
    replay.tree.set(np.arange(LEAVES), random.random(LEAVES) + 0.1)
    return draw_timed(replay, random.random(BATCH_SIZE).astype(np.float32), seconds)


def replay_whole(seconds: float) -> Row:
    """Whole batches with their frames from 100,000 slots in use, and the size of a transition."""
    before = resident()
    config = shared_config("contest", precision="fp32", torch_threads=1, num_envs=WORKERS)
    replay = make_replay(config, WORKERS, capacity=FILL)
    add = fill(replay, FILL + 2 * WORKERS * EPISODE)
    held, drawable = resident() - before, np.count_nonzero(replay.tree.leaves)
    return {
        **draw_timed(replay, np.ones(BATCH_SIZE, np.float32), seconds / 2),
        **parts.timed(add, seconds=seconds / 2, name="add_8"),
        "bytes_per_transition": held / drawable,
    }


def learner(seconds: float, **setting: Any) -> Row:
    """Updates alone, on one batch, and acting for eight observations."""
    config = shared_config("contest", **setting)
    device = prepare_device("cpu", threads=config.computing.torch_threads)
    seed_everything(0)
    replay = make_replay(config, WORKERS, capacity=4_000)
    fill(replay, 3_200)
    batch = replay.sample(BATCH_SIZE, beta=0.4, rng=np.random.default_rng(0))
    net = make_net(config).to(device)
    agent, updates = RainbowAgent(net, config), Learner(net, config, device=device)
    obs = np.random.default_rng(0).integers(0, 256, (WORKERS, 4, 84, 84), np.uint8)
    row = parts.timed(lambda: updates.update(batch), seconds=seconds, name="update")
    row["updates_per_second"] = 1000.0 / row["update_ms"]
    return {
        **row,
        **parts.timed(lambda: agent.act(obs, play="draw"), seconds=seconds / 4, name="act_8"),
    }


def end_to_end(seconds: float, *, preset: str, **setting: Any) -> Row:
    """`rainbow.train.run` as it is, timed from some time after its first update."""
    clock = Stopwatch(seconds)
    config = shared_config(preset, **setting)
    parts.run_until(lambda _: clock.tick(), run, parts.make_envs(config.env), config)
    return clock.result()


def run_here(case: str, options: Options) -> Row:
    simple = {"priorities": priorities, "replay": replay_whole}
    if case in simple:
        return simple[case](options.seconds)
    if case == "env":
        envs = parts.make_envs(EnvConfig(backend=options.backend))
        return parts.env_only(options.seconds, envs)
    name, setting = cases.setting_of(case, options)
    if name == "learner":
        return learner(options.seconds, **setting)
    preset = "laptop" if name == "laptop" else "contest"
    return end_to_end(options.seconds, preset=preset, **setting)


def bound(repeat: Repeat, setting: str, *, cores: int) -> float:
    """Agent steps per second that the parts allow; see docs/contribute/benchmarks.md."""
    learner, replay, env = repeat[f"learner-{setting}"], repeat["replay"], repeat["env"]
    updates = WORKERS / STEPS_PER_UPDATE

    def own(kind: str) -> float:
        batches = learner[f"update_{kind}"] + replay[f"sample_and_update_{kind}"]
        once = learner[f"act_8_{kind}"] + replay[f"add_8_{kind}"] + env["main_cpu_ms"]
        return updates * batches + once

    shared = (own("cpu_ms") + env["workers_cpu_ms"]) / cores
    return 1000.0 * WORKERS / max(shared, own("ms"))


def of_bound(repeat: Repeat, setting: str, *, cores: int) -> float | None:
    """The whole divided by what its parts allow; None if one was not measured."""
    if not {"replay", "env", f"learner-{setting}", f"rainbow-{setting}"} <= repeat.keys():
        return None
    whole: float = repeat[f"rainbow-{setting}"]["steps_per_second"]
    return whole / bound(repeat, setting, cores=cores)


def table(repeats: list[Repeat], options: Options) -> Rows:
    rows = [*cases.median_cases(repeats), *cases.ratio_rows(repeats, RATIOS)]
    for setting in SETTINGS:
        values = [of_bound(repeat, setting, cores=options.cores) for repeat in repeats]
        rows += cases.median_row({"ratio": f"rainbow-{setting}/bound"}, values, at_least=BOUND_AIM)
    return [*rows, *cases.limit_rows(repeats, LIMITS)]


options: Any = {"suffix": SUFFIX, "cores": os.cpu_count() or 1, "backend": cases.BACKENDS}
peers = cases.peer_commands(PEERS)
main = cases.benchmark(
    "rainbow", __doc__, CASES, here=run_here, peers=peers, table=table, seconds=15.0, **options
)

if __name__ == "__main__":
    main()
