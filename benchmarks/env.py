"""Speed of the environment beside the bare emulator and beside Stable-Baselines3's workers.

`python -m benchmarks.env` prints one JSON line per row: agent steps per second of each case, and
ratios. Cases run in processes of their own, in turn, several times: on a machine that others load
too, compare within a repeat. `--write` stores the rows in benchmarks/results/env.json.

bare_1, bare_8   one or eight emulators, each in a free-running process: 4 frames and the screen
airstriker_1     as bare_1, with stable-retro's own Mega Drive game, Airstriker
ours_1           make_env: sticky frame skip, reward, warp, stack
ours_8           make_vec with eight workers
sb3_8            stable-retro under the usual Python wrappers in SubprocVecEnv, eight workers
"""

from __future__ import annotations

import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import cv2
import gymnasium
import numpy as np
import stable_retro

from benchmarks.cases import add_seconds, in_own_process, make_parser, report
from experiment.errors import UserError, command
from retro_env import EnvConfig, Level, make_env, make_vec
from retro_env.integrations import games
from retro_env.wrappers import ACTIONS, BUTTON_NAMES

LEVEL = Level("BrambleDash-Genesis-v0", "BrambleWood.Act1")
WORKERS = 8
WARM_UP_SECONDS = 0.5
RATIOS = [
    ("ours_1", "bare_1", 0.85),
    ("ours_8", "bare_8", None),
    ("ours_8", "sb3_8", 1.5),
    ("bare_1", "airstriker_1", 1.0),
]
"""Case, the case it is divided by, and the aim."""


def rate(step: Callable[[], None], *, seconds: float) -> float:
    """Calls per second, after a warm-up."""
    for limit in (WARM_UP_SECONDS, seconds):
        count, start = 0, time.perf_counter()
        while time.perf_counter() - start < limit:
            step()
            count += 1
    return count / (time.perf_counter() - start)


def pads() -> np.ndarray:
    """The contest's seven actions as buttons, int8 [7, 12]."""
    return np.array([[name in a.split() for name in BUTTON_NAMES] for a in ACTIONS[7]], np.int8)


def raw_env() -> Any:
    """stable-retro's environment, one frame per step."""
    return stable_retro.RetroEnv(
        LEVEL.game,
        state=LEVEL.state,
        scenario="contest",
        inttype=games()[LEVEL.game],
        render_mode="rgb_array",
    )


def airstriker(seconds: float) -> float:
    """The emulator alone with the other game."""
    return bare(
        seconds, env=stable_retro.RetroEnv("Airstriker-Genesis-v0", render_mode="rgb_array")
    )


def bare(seconds: float, seed: int = 0, *, env: Any = None) -> float:
    """The emulator alone: buttons, four frames, the screen; back to the start where a life ends."""
    env = env or raw_env()
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

    return rate(step, seconds=seconds)


def bare_workers(seconds: float) -> float:
    """The sum over eight processes that never wait for one another."""
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        return sum(pool.starmap(bare, [(seconds, seed) for seed in range(WORKERS)]))


def ours(seconds: float) -> float:
    """One environment of this project."""
    env = make_env(LEVEL, EnvConfig())
    env.reset(seed=0)
    random = np.random.default_rng(0)

    def step() -> None:
        _, _, terminated, truncated, _ = env.step(int(random.integers(7)))
        if terminated or truncated:
            env.reset()

    return rate(step, seconds=seconds)


def ours_workers(seconds: float) -> float:
    """Eight workers of this project."""
    envs = make_vec([LEVEL], num_envs=WORKERS, config=EnvConfig())
    envs.reset()
    random = np.random.default_rng(0)
    steps = rate(lambda: envs.step(random.integers(0, 7, WORKERS)) and None, seconds=seconds)
    envs.close()
    return steps * WORKERS


class UsualSkip(gymnasium.Wrapper):
    """Discrete(7), sticky frame skip by four whole steps: as stable-retro's examples do it."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.buttons = pads()
        self.action_space = gymnasium.spaces.Discrete(7)
        self.random = np.random.default_rng(0)
        self.held: np.ndarray | None = None

    def reset(self, **kwargs: Any) -> Any:
        """Forget the held buttons."""
        self.held = None
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        """Four steps, rewards summed."""
        total = 0.0
        for substep in range(4):
            sticks = substep == 0 and self.random.random() <= 0.25
            if self.held is None or (substep < 2 and not sticks):
                self.held = self.buttons[action]
            obs, reward, terminated, truncated, info = self.env.step(self.held)
            total += float(reward)
            if terminated or truncated:
                break
        return obs, total, terminated, truncated, info


class UsualWarp(gymnasium.ObservationWrapper):
    """Grey, 84 × 84 by OpenCV's area interpolation, channel last."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.observation_space = gymnasium.spaces.Box(0, 255, (84, 84, 1), np.uint8)

    def observation(self, observation: np.ndarray) -> np.ndarray:
        """One screen."""
        grey = cv2.cvtColor(observation, cv2.COLOR_RGB2GRAY)
        return cv2.resize(grey, (84, 84), interpolation=cv2.INTER_AREA)[:, :, None]


def usual_env() -> gymnasium.Env:
    """What stable-retro's users build by hand."""
    env = gymnasium.wrappers.TimeLimit(UsualSkip(raw_env()), max_episode_steps=4500)
    return UsualWarp(env)


def sb3_workers(seconds: float) -> float:
    """Eight of those in SubprocVecEnv, with the vector wrappers that an agent needs."""
    try:
        from stable_baselines3.common import vec_env
    except ImportError:
        raise UserError("sb3_8 needs stable-baselines3: install the `dev` extra") from None
    envs: Any = vec_env.SubprocVecEnv([usual_env] * WORKERS)
    envs = vec_env.VecTransposeImage(vec_env.VecFrameStack(envs, n_stack=4))
    envs.reset()
    random = np.random.default_rng(0)
    steps = rate(lambda: envs.step(random.integers(0, 7, WORKERS)) and None, seconds=seconds)
    envs.close()
    return steps * WORKERS


CASES: dict[str, Callable[[float], float]] = {
    "bare_1": bare,
    "airstriker_1": airstriker,
    "ours_1": ours,
    "bare_8": bare_workers,
    "ours_8": ours_workers,
    "sb3_8": sb3_workers,
}


def measure(case: str, seconds: float) -> float:
    """One case in a process of its own. UserError: it failed."""
    argv = [sys.executable, "-m", "benchmarks.env", "--case", case, "--seconds", str(seconds)]
    return float(in_own_process(case, argv)["steps_per_second"])


def table(repeats: list[dict[str, float]]) -> list[dict[str, Any]]:
    """Medians per case, and medians of the ratios within repeats."""
    rows: list[dict[str, Any]] = []
    for case in CASES:
        values = [round(repeat[case], 1) for repeat in repeats]
        rows.append({"case": case, "steps_per_second": statistics.median(values), "all": values})
    for case, reference, aim in RATIOS:
        ratios = [round(repeat[case] / repeat[reference], 3) for repeat in repeats]
        row = {"ratio": f"{case}/{reference}", "value": statistics.median(ratios), "all": ratios}
        rows.append(row if aim is None else {**row, "aim": aim})
    return rows


@command
def main() -> None:
    """The command line."""
    parser = make_parser("env", __doc__, repeats=5)
    parser.add_argument("--case", choices=CASES, help="measure one case, in this process")
    add_seconds(parser, 4.0)
    arguments = parser.parse_args()
    if arguments.case:
        steps = CASES[arguments.case](arguments.seconds)
        print(json.dumps({"case": arguments.case, "steps_per_second": steps}))
        return
    repeats = [
        {case: measure(case, arguments.seconds) for case in CASES} for _ in range(arguments.repeats)
    ]
    report("env", table(repeats), write=arguments.write)


if __name__ == "__main__":
    main()
