"""The measurements behind benchmarks.rainbow: each function is one case, run in its own process."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.parts import Row, make_envs, preset_config, run_until, timed
from benchmarks.peers import stopwatch
from benchmarks.peers.stopwatch import WORKERS
from experiment.device import prepare_device
from experiment.seeding import seed_everything
from rainbow.agent import RainbowAgent, make_net
from rainbow.config import RainbowConfig
from rainbow.learner import Learner
from rainbow.memory import Replay, SumTree
from rainbow.train import parse, run

LEAVES = 1 << 20
FILL = 100_000
EPISODE = 250
"""Agent steps of the made-up episodes that fill a replay: about what random play lasts."""


def shared_config(preset: str, precision: str, threads: int) -> RainbowConfig:
    """A preset, with what every agent in this comparison shares."""
    config: RainbowConfig = preset_config(
        parse,
        preset,
        precision=precision,
        torch_threads=threads,
        num_envs=WORKERS,
        batch_size=stopwatch.BATCH_SIZE,
        update_every=stopwatch.STEPS_PER_UPDATE,
        replay_size=stopwatch.REPLAY_SIZE,
        learning_starts=stopwatch.LEARNING_STARTS,
        rotate_every=0,
    )
    return config


def make_replay(config: RainbowConfig, capacity: int) -> Replay:
    """An empty replay for that config."""
    spec = config.env.spec()
    return Replay(
        capacity,
        WORKERS,
        frame_shape=(spec.channels, *spec.observation_shape[1:]),
        frame_stack=spec.frame_stack,
        n_step=config.n_step,
        gamma=config.gamma,
        alpha=config.priority_alpha,
        epsilon=config.priority_epsilon,
    )


def fill(replay: Replay, steps: int, *, episode: int = EPISODE) -> Callable[[], None]:
    """Play made-up episodes of `episode` steps for `steps` agent steps in all; one more each call
    of what is returned."""
    random = np.random.default_rng(0)
    obs = random.integers(0, 256, (16, WORKERS, len(replay.steps_back), 84, 84), np.uint8)
    actions, rewards = np.zeros(WORKERS, np.int64), np.ones(WORKERS, np.float32)
    never, count = np.zeros(WORKERS, np.bool_), 0

    def step() -> None:
        nonlocal count
        count += 1
        ended = np.full(WORKERS, count % episode == 0)
        now, following = obs[count % 16], obs[(count + 1) % 16]
        replay.add(now, actions, rewards, ended, never, list(following))

    for _ in range(steps // WORKERS):
        step()
    return step


def resident_bytes() -> int:
    """Memory this process holds."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def tree(seconds: float) -> Row:
    """The sum tree alone: find and set for one batch at 2^20 leaves."""
    leaves, random = SumTree(LEAVES), np.random.default_rng(0)
    leaves.set(np.arange(LEAVES), random.random(LEAVES) + 0.1)

    def draw() -> None:
        found = leaves.find(random.random(stopwatch.BATCH_SIZE) * leaves.total)
        leaves.set(found, random.random(stopwatch.BATCH_SIZE) + 0.1)

    return timed(draw, seconds=seconds, name="find_and_set")


def priorities(seconds: float) -> Row:
    """What prioritising costs at 2^20 leaves: drawing indices and weights, and new priorities.

    The replay has slots of 2 × 2 pixels, so that gathering frames costs next to nothing: it is no
    part of the aim, and `replay` measures it.
    """
    replay = Replay(
        LEAVES, WORKERS, frame_shape=(1, 2, 2), frame_stack=4, n_step=3, gamma=0.99, alpha=0.5
    )
    random = np.random.default_rng(0)
    replay.tree.set(np.arange(LEAVES), random.random(LEAVES) + 0.1)
    losses = random.random(stopwatch.BATCH_SIZE).astype(np.float32)

    def draw() -> None:
        batch = replay.sample(stopwatch.BATCH_SIZE, beta=0.4, rng=random)
        replay.update_priorities(batch.indices, losses)

    return timed(draw, seconds=seconds, name="sample_and_update")


def replay_whole(seconds: float) -> Row:
    """Whole batches with their frames from 100,000 slots in use, and what a transition takes."""
    before = resident_bytes()
    config = shared_config("contest", "fp32", 1)
    replay = make_replay(config, FILL)
    add = fill(replay, FILL + 2 * WORKERS * EPISODE)
    held, drawable = resident_bytes() - before, np.count_nonzero(replay.tree.leaves)
    random, losses = np.random.default_rng(0), np.ones(stopwatch.BATCH_SIZE, np.float32)

    def draw() -> None:
        batch = replay.sample(stopwatch.BATCH_SIZE, beta=0.4, rng=random)
        replay.update_priorities(batch.indices, losses)

    return {
        **timed(draw, seconds=seconds / 2, name="sample_and_update"),
        **timed(add, seconds=seconds / 2, name="add_8"),
        "bytes_per_transition": held / drawable,
    }


def learner(seconds: float, *, precision: str, threads: int) -> Row:
    """Updates alone, on one batch, and acting for eight observations."""
    config = shared_config("contest", precision, threads)
    device = prepare_device("cpu", threads=threads)
    seed_everything(0)
    replay = make_replay(config, 4_000)
    fill(replay, 3_200)
    batch = replay.sample(stopwatch.BATCH_SIZE, beta=0.4, rng=np.random.default_rng(0))
    net = make_net(config).to(device)
    agent, updates = RainbowAgent(net, config), Learner(net, config, device=device)
    obs = np.random.default_rng(0).integers(0, 256, (WORKERS, 4, 84, 84), np.uint8)
    row = timed(lambda: updates.update(batch), seconds=seconds, name="update")
    row["updates_per_second"] = 1000.0 / row["update_ms"]
    return {**row, **timed(lambda: agent.act(obs, explore=True), seconds=seconds / 4, name="act_8")}


def end_to_end(seconds: float, *, preset: str, precision: str, threads: int) -> Row:
    """`rainbow.train.run` as it is, timed from a while after its first update."""
    clock = stopwatch.Stopwatch(seconds)
    run_until(clock.tick, run, make_envs(), shared_config(preset, precision, threads))
    return clock.result()
