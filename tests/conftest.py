"""A tiny game for agents to learn in seconds: run right, jump over the hole."""

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv

# Before PyTorch begins: sums are added in another order by two threads, and runs must be equal.
os.environ["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", "1")

from retro_agents.contract.envs import EnvSpec
from retro_agents.ground.cluster import patiently

# A shell in the background makes Ctrl-C ignored, nohup a hang-up, and tests send both.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Process(subprocess.Popen[Any]):
    """A `with` waits for its process, however long, unless its test is out of time."""

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is pytest.fail.Exception:
            self.kill()
        try:
            super().__exit__(kind, *error)
        except pytest.fail.Exception:  # while it waited
            self.kill()
            raise


subprocess.Popen = Process  # type: ignore[misc]


def pytest_collection_finish() -> None:
    """What is imported by now is not looked through for garbage, which stable-retro, Gymnasium's
    films and Optuna collect again and again, half a second each time."""
    gc.freeze()


RIGHT, JUMP = 1, 6
LENGTH, HOLE = 8, 4


class Corridor(VectorEnv):
    """Observations uint8 [N,4,36,36] show the position as a bright column. RIGHT goes on, JUMP too
    (over the hole, where RIGHT falls in and ends the episode); every new column gives 1."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012  Gymnasium's form

    env_spec = EnvSpec(
        family="corridor",
        observation_shape=(4, 36, 36),
        frame_stack=4,
        action_names=("LEFT", "RIGHT", "LEFT DOWN", "RIGHT DOWN", "DOWN", "DOWN B", "B"),
        frame_skip=4,
        rewards={},
    )
    saves_states = True
    resets_rows = False
    length, holes, limit = LENGTH, (HOLE,), 30

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs
        self.levels = ["corridor"] * num_envs
        self.single_observation_space = gymnasium.spaces.Box(0, 255, (4, 36, 36), np.uint8)
        self.single_action_space = gymnasium.spaces.Discrete(7)
        self.position = np.zeros(num_envs, int)
        self.steps = np.zeros(num_envs, int)
        self.stacks = np.zeros((num_envs, 4, 36, 36), np.uint8)
        self.actions = np.zeros(num_envs, int)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        infos: dict[str, Any] = {}
        for env in range(self.num_envs):
            if self.steps[env]:
                infos = self._add_info(infos, {"episode_record": self._episode(env)}, env)
            self._restart(env)
        return self.stacks.copy(), infos

    def step_async(self, actions: np.ndarray, part: slice = slice(None)) -> None:
        self.actions[part] = actions

    def step_wait(self, part: slice = slice(None)) -> tuple[np.ndarray, ...]:
        rewards = np.zeros(self.num_envs)
        terminated = np.zeros(self.num_envs, bool)
        truncated = np.zeros(self.num_envs, bool)
        infos: dict[str, Any] = {}
        for env in range(self.num_envs)[part]:
            action = self.actions[env]
            fell = action == RIGHT and self.position[env] + 1 in self.holes
            if action in (RIGHT, JUMP):
                self.position[env] += 1
                rewards[env] = 0.0 if fell else 1.0
            self.steps[env] += 1
            terminated[env] = fell or self.position[env] == self.length
            truncated[env] = not terminated[env] and self.steps[env] == self.limit
            self._show(env)
            if terminated[env] or truncated[env]:
                record = self._episode(env, fell=bool(fell))
                ended = {"episode_record": record, "final_obs": self.stacks[env].copy()}
                infos = self._add_info(infos, ended, env)
                self._restart(env)
        return self.stacks[part].copy(), rewards[part], terminated[part], truncated[part], infos

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, ...]:
        self.step_async(actions)
        return self.step_wait()

    def send_newest_frames(self) -> None:
        """Sends whole observations anyway."""

    def save_states(self) -> list[dict[str, Any]]:
        return [
            {"position": int(p), "steps": int(s), "stack": stack.tobytes()}
            for p, s, stack in zip(self.position, self.steps, self.stacks, strict=True)
        ]

    def restore_states(self, states: list[dict[str, Any]]) -> np.ndarray:
        for env, state in enumerate(states):
            self.position[env], self.steps[env] = state["position"], state["steps"]
            self.stacks[env] = np.frombuffer(state["stack"], np.uint8).reshape(4, 36, 36)
        return self.stacks.copy()

    def _episode(self, env: int, *, fell: bool = False) -> dict[str, Any]:
        return {
            "r": float(self.position[env] - fell),
            "l": int(self.steps[env]),
            "level": self.levels[env],
            "progress": self.position[env] / self.length,
            "finished": bool(self.position[env] == self.length),
        }

    def _frame(self, env: int) -> np.ndarray:
        frame = np.full((36, 36), 30, np.uint8)
        frame[:, 4 * self.position[env] : 4 * self.position[env] + 4] = 220
        return frame

    def _restart(self, env: int) -> None:
        self.position[env] = self.steps[env] = 0
        self.stacks[env] = self._frame(env)

    def _show(self, env: int) -> None:
        self.stacks[env, :-1] = self.stacks[env, 1:]
        self.stacks[env, -1] = self._frame(env)


@pytest.fixture
def corridor() -> Callable[[int], Corridor]:
    return Corridor


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Any, Path]]:
    """Agent's name -> the agent of a tiny run, and that run's folder; only to be read."""
    from tests.agents.tiny import train

    @cache
    def run_of(agent: str) -> tuple[Any, Path]:
        folder = tmp_path_factory.mktemp(agent)
        return train(agent, folder, "--run-dir", folder), folder

    return run_of


@pytest.fixture
def without_libgl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine that has EnvPool, but not the library that its Procgen needs; commands too."""
    package = tmp_path / "without-libgl" / "envpool"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    missing = "libGL.so.1: cannot open shared object file: No such file or directory"
    (package / "procgen.py").write_text(f"raise ImportError({missing!r})\n")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.syspath_prepend(package.parent)
    names = [name for name in sys.modules if name.partition(".")[0] == "envpool"]
    for name in names:
        monkeypatch.delitem(sys.modules, name)
    yield
    for name in ("envpool", "envpool.procgen"):
        sys.modules.pop(name, None)


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """refused(call, *words): the error that a command says in one line, with exit code 2. noisy:
    it says other things before."""

    def caught(call: Callable[..., Any], *words: Any, noisy: bool = False, **named: Any) -> str:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            call(*words, **named)
        out, err = capsys.readouterr()
        *before, said = err.splitlines()
        assert stop.value.code == 2 and said.startswith("error: ")
        assert noisy or not (out or before)
        return said

    return caught


@pytest.fixture(scope="module")
def ray_address() -> Iterator[str]:
    """A Ray cluster of this machine, for a file's tests: one takes seconds to start. Once a process
    has had another cluster, as a population's tests have, Ray cancels actors on an earlier one."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    utils = pytest.importorskip("ray.cluster_utils")
    arguments = {"num_cpus": 4, "include_dashboard": False}
    cluster = patiently(partial(utils.Cluster, True, head_node_args=arguments))
    yield cluster.address
    cluster.shutdown()
