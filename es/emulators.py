"""Where episodes are played: emulators that begin what they are told, or any vector environment."""

import contextlib
import dataclasses
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, final

import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from es.worker import receive
from experiment.errors import UserError
from retro_env import EnvConfig, Level, ended_episodes
from retro_env.integrations import custom_folders
from retro_env.protocol import send_message


@dataclass(frozen=True)
class Start:
    """What an episode begins with. level: its number. seed: of its chance. steps: its cap."""

    level: int
    seed: int
    steps: int


@dataclass(frozen=True)
class Answer:
    """What came of a step. episode: as EpisodeRecord says, at the end."""

    reward: float = 0.0
    episode: dict[str, Any] | None = None


class Stage(Protocol):
    """Rows that each play an episode at a time. obs: uint8 [K,C,H,W], what each row sees."""

    num_envs: int
    planned: bool
    """Whether a row plays what it is told; else it plays what comes, without a cap."""
    obs: NDArray[np.uint8]

    @property
    def levels(self) -> Sequence[str]:
        """GAME:STATE of each level that can be begun."""
        ...

    def free(self, row: int) -> bool:
        """Whether a row can begin an episode."""
        ...

    def begin(self, row: int, start: Start) -> None:
        """Begin an episode; its first observation is in `obs` then."""
        ...

    def step(self, actions: NDArray[np.int64], rows: Sequence[int]) -> dict[int, Answer]:
        """One step of these rows, with actions [K] of all."""
        ...


@final
class Emulators:
    """A stage of emulators, each in a process of its own, any of which plays any level."""

    planned = True

    def __init__(self, levels: Sequence[Level], *, num_envs: int, config: EnvConfig) -> None:
        self.playable, self.num_envs = list(levels), num_envs
        self.levels = [str(level) for level in levels]
        self.config = config
        self.obs = np.zeros((num_envs, *config.observation_shape), np.uint8)
        self.processes: list[subprocess.Popen[bytes] | None] = [None] * num_envs
        self.sockets: list[socket.socket | None] = [None] * num_envs
        try:
            for row in range(num_envs):
                self.launch(row)
            for row in range(num_envs):
                self.receive(row)
        except BaseException:
            self.close()
            raise

    def launch(self, row: int) -> None:
        """Start a row's process; its first answer says that it is ready."""
        ours, theirs = socket.socketpair()
        root = str(Path(__file__).resolve().parents[1])
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        with theirs:
            self.processes[row] = subprocess.Popen(
                [sys.executable, "-m", "es.worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
                process_group=0,  # Ctrl-C reaches the parent only, which then closes the socket
            )
        self.sockets[row] = ours
        level = self.playable[0]
        setup = {
            "config": dataclasses.asdict(self.config),
            "custom_folders": custom_folders(),
            "level": [level.game, level.state],
        }
        send_message(ours, setup)

    def free(self, row: int) -> bool:
        return True

    def begin(self, row: int, start: Start) -> None:
        level = self.playable[start.level]
        self.send(row, "begin", level.game, level.state, start.seed, start.steps)
        self.obs[row] = self.image(self.receive(row))

    def step(self, actions: NDArray[np.int64], rows: Sequence[int]) -> dict[int, Answer]:
        for row in rows:
            self.send(row, "step", int(actions[row]))
        return {row: self.answer(row) for row in rows}

    def answer(self, row: int) -> Answer:
        """What came of a row's step."""
        answer = self.receive(row)
        self.obs[row] = self.image(answer)
        return Answer(answer["reward"], answer.get("episode"))

    def image(self, answer: dict[str, Any]) -> NDArray[np.uint8]:
        """What a row sees now."""
        return np.frombuffer(answer["obs"], np.uint8).reshape(self.obs.shape[1:])

    def send(self, row: int, name: str, *arguments: Any) -> None:
        """Ask a row's process for something."""
        sock = self.sockets[row]
        assert sock is not None, "these emulators are closed"
        send_message(sock, [name, *arguments])

    def receive(self, row: int) -> Any:
        """A row's answer. Errors: UserError, RuntimeError (its own, or it has died)."""
        sock = self.sockets[row]
        assert sock is not None, "these emulators are closed"
        try:
            status, value = receive(sock)
        except (EOFError, ConnectionError):
            raise RuntimeError(f"emulator {row} has died") from None
        if status == "user-error":
            raise UserError(value)
        if status == "error":
            raise RuntimeError(f"emulator {row} failed:\n{value}")
        return value

    def end(self, row: int) -> None:
        """Kill a row's process: it holds nothing that is needed."""
        sock, process = self.sockets[row], self.processes[row]
        if sock is not None:
            sock.close()
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            process.wait()
        self.sockets[row] = self.processes[row] = None

    def close(self) -> None:
        """End all processes."""
        for row in range(self.num_envs):
            self.end(row)


@final
class Stream:
    """A stage of any vector environment with SAME_STEP autoreset, such as a contest's one level:
    every row steps always, and an episode begins where the last one ends."""

    planned = False

    def __init__(self, envs: VectorEnv, *, seed: int) -> None:
        self.envs, self.num_envs = envs, envs.num_envs
        self.obs, _ = envs.reset(seed=seed)
        # What plays where is up to them: for us it is one level.
        self.levels = [",".join(sorted(set(envs.levels)))]  # type: ignore[attr-defined]
        self.fresh = [True] * envs.num_envs

    def free(self, row: int) -> bool:
        return self.fresh[row]

    def begin(self, row: int, start: Start) -> None:
        assert self.fresh[row], "the last episode of this row has not ended"

    def step(self, actions: NDArray[np.int64], rows: Iterable[int]) -> dict[int, Answer]:
        self.obs, rewards, _, _, infos = self.envs.step(actions)
        episodes = {episode["env"]: episode for episode in ended_episodes(infos)}
        self.fresh = [row in episodes for row in range(self.num_envs)]
        return {row: Answer(float(rewards[row]), episodes.get(row)) for row in rows}
