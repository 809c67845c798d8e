"""Speed of the environment relative to the bare emulator and Stable-Baselines3's workers.

Cases and aims: docs/contribute/benchmarks.md.
"""

import multiprocessing
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import stable_retro

from lab.benchmarks.cases import Options, Repeat, Row, Rows, benchmark, median_cases, ratio_rows
from lab.benchmarks.parts import env_only, make_envs, one_env, timed
from lab.benchmarks.peers.stopwatch import LEVEL, WORKERS
from retro_agents.contract.envs import row_seeds
from retro_agents.games.families import make
from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.integrations import kind_of
from retro_agents.games.retro.levels import parse_level
from retro_agents.games.retro.native import NativeVectorEnv
from retro_agents.games.retro.wrappers import ACTIONS, BUTTON_NAMES

GAME, STATE = LEVEL.split(":")
SHOWN = {"render_mode": "rgb_array"}
RULES = {"scenario": "contest", "inttype": kind_of(GAME), **SHOWN}
OTHER = "Airstriker-Genesis-v0"
EMULATED = EnvConfig(backend="emulator")
RATIOS = [
    ("ours_1", "bare_1", 0.85),
    ("ours_8", "bare_8", None),
    ("ours_8", "sb3_8", 1.5),
    ("bare_1", "airstriker_1", 1.0),
    ("native_1", "ours_1", 12.0),
    ("native_64", "ours_1", None),
    ("native_64_2", "ours_8", 20.0),
    ("native_64", "procgen_64", None),
    ("native_64_2", "procgen_64_2", None),
    ("native_64_2", "sb3_8", None),
]
"""Case, the case in the denominator, and the aim."""


def pads() -> np.ndarray:
    """The contest's seven actions as buttons, int8 [7, 12]."""
    return np.array([[name in a.split() for name in BUTTON_NAMES] for a in ACTIONS[7]], np.int8)


def bare(seconds: float, seed: int = 0, *, env: Any = None) -> float:
    """The emulator alone: buttons, four frames, the screen; back to the start after a lost life."""
    env = env or stable_retro.RetroEnv(GAME, state=STATE, **RULES)
    env.reset()
    emulator, buttons = env.em, pads().astype(np.uint8)
    random = np.random.default_rng(seed)

    def step() -> None:
        emulator.set_button_mask(buttons[random.integers(7)], 0)
        for _ in range(4):
            emulator.step()
        emulator.get_screen()
        if env.data.lookup_value("lives") < 3:  # both games begin with three
            emulator.set_state(env.initial_state)
            emulator.step()

    return 1000.0 / timed(step, seconds=seconds, name="step")["step_ms"]


def bare_workers(seconds: float) -> float:
    """The sum over eight processes that never wait for one another."""
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        return sum(pool.starmap(bare, [(seconds, seed) for seed in range(WORKERS)]))


def usual_env() -> gymnasium.Env:
    """A usual stable-retro environment: its example's wrappers around the contest's actions."""
    from stable_baselines3.common.atari_wrappers import WarpFrame
    from stable_retro.examples.ppo import make_retro

    env = make_retro(game=GAME, state=STATE, **RULES)
    actions = gymnasium.spaces.Discrete(7)
    return WarpFrame(gymnasium.wrappers.TransformAction(env, pads().__getitem__, actions))


def sb3_workers(seconds: float) -> float:
    """Eight of those in SubprocVecEnv, with the vector wrappers that an agent needs."""
    from stable_baselines3.common import vec_env  # of an extra

    envs: Any = vec_env.SubprocVecEnv([usual_env] * WORKERS)
    envs = vec_env.VecTransposeImage(vec_env.VecFrameStack(envs, n_stack=4))
    envs.reset()
    random = np.random.default_rng(0)
    row = timed(lambda: envs.step(random.integers(0, 7, WORKERS)), seconds=seconds, name="step")
    envs.close()
    return 1000.0 * WORKERS / row["step_ms"]


def native(seconds: float, *, threads: int) -> float:
    """64 environments on one level, on so many threads."""
    same: Any = {"rotate_every": 0, "record_dir": None, "threads": threads}
    levels, seed = [[parse_level(LEVEL)]] * 64, row_seeds(0, 64)
    envs = NativeVectorEnv(levels, config=EnvConfig(), seed=seed, **same)
    return env_only(seconds, envs=envs)["steps_per_second"]


def procgen(seconds: float, *, threads: int) -> float:
    """64 environments of Procgen's coinrun, easy, in EnvPool behind our contract: 64 x 64 RGB."""
    envs = make("procgen:coinrun", ProcgenConfig(env_threads=threads), num_envs=64)
    return env_only(seconds, envs=envs)["steps_per_second"]


CASES: dict[str, Callable[[float], float]] = {
    "bare_1": bare,
    "airstriker_1": lambda seconds: bare(seconds, env=stable_retro.RetroEnv(OTHER, **SHOWN)),
    "ours_1": lambda seconds: one_env(seconds, backend="emulator")["steps_per_second"],
    "bare_8": bare_workers,
    "ours_8": lambda seconds: env_only(seconds, make_envs(EMULATED))["steps_per_second"],
    "native_1": lambda seconds: one_env(seconds)["steps_per_second"],
    "native_64": lambda seconds: native(seconds, threads=1),
    "native_64_2": lambda seconds: native(seconds, threads=2),
    "procgen_64": lambda seconds: procgen(seconds, threads=1),
    "procgen_64_2": lambda seconds: procgen(seconds, threads=2),
    "sb3_8": sb3_workers,
}


def run_here(case: str, options: Options) -> Row:
    return {"steps_per_second": CASES[case](options.seconds)}


def table(repeats: list[Repeat], options: Options) -> Rows:
    return [*median_cases(repeats), *ratio_rows(repeats, RATIOS)]


main = benchmark("env", __doc__, list(CASES), here=run_here, table=table, repeats=5, seconds=4.0)

if __name__ == "__main__":
    main()
