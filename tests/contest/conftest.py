"""A contest server over a toy level, in a thread of the test."""

import contextlib
import json
import threading
import time

import gymnasium
import numpy as np
import pytest

from retro_agents.contest.wire.limits import Limits
from retro_agents.contest.wire.protocol import GymRemoteError
from retro_agents.contest.wire.record import Record
from retro_agents.contest.wire.server import Session, serve
from retro_agents.contest.wire.socket_folder import meeting_place
from tests.contest.raw import playing

WAIT = 120.0


class ToyEnv(gymnasium.Env):
    """A level without an emulator: the screen tells seed, episode, step and action.

    Terminated on the step that reaches `length`, truncated on the one that reaches `cut`.
    """

    def __init__(self, *, length=5, cut=0):
        self.action_space = gymnasium.spaces.MultiBinary(12)
        self.observation_space = gymnasium.spaces.Box(0, 255, (6, 8, 3), np.uint8)
        self.length, self.cut = length, cut
        self.steps = 0

    def screen(self, action):
        noise = self.np_random.integers(0, 256, (6, 8, 3)).astype(np.uint8)
        noise[0, 0] = self.steps % 256, action % 256, action // 256
        return noise

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.screen(0), {"level": "toy"}

    def step(self, action):
        assert action.shape == (12,) and action.dtype == np.int8
        self.steps += 1
        number = int(sum(int(bit) << i for i, bit in enumerate(action)))
        reward = float(self.np_random.normal()) + number / 3
        ends = self.steps == self.length, self.steps == self.cut
        return self.screen(number), reward, *ends, {}


def serve_toy(env, folder, results, **limits):
    """A server for a process of its own."""
    record = Record(results, facts={"level": "toy"})
    with meeting_place(folder):
        serve(Session(env, folder, limits=Limits(**limits), record=record, seed=0))


class Running:
    """A server in a thread. `ended()` waits for its end and gives what `serve` returned."""

    def __init__(self, env, root, limits, *, seed=7):
        self.folder, self.results = root / "shared", root / "results"
        self.record = Record(self.results, facts={"level": "toy"})
        self.outcome: GymRemoteError | None = None
        self.error: BaseException | None = None

        def work():
            try:
                with meeting_place(self.folder) as folder:
                    one = Session(env, folder, limits=limits, record=self.record, seed=seed)
                    self.outcome = serve(one)
            except Exception as error:
                self.error = error

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()

    def socket(self):
        """Path of its socket, once it is there."""
        path = self.folder / "sock"
        deadline = time.monotonic() + WAIT
        while not path.exists() and self.thread.is_alive():
            assert time.monotonic() < deadline
            time.sleep(0.002)
        return str(path)

    def ended(self):
        self.thread.join(WAIT)
        assert not self.thread.is_alive(), "the server hangs"
        return self.outcome

    def dismiss(self):
        """End a server that still waits for a client."""
        while self.thread.is_alive():
            with contextlib.suppress(OSError), playing(self):
                pass
            self.thread.join(0.05)

    def rows(self):
        """(return, length) of each row of monitor.csv."""
        lines = (self.results / "monitor.csv").read_text().splitlines()
        assert lines[0] == "r,l,t"
        cells = [line.split(",") for line in lines[1:]]
        return [(float(r), int(length)) for r, length, _ in cells]

    def result(self):
        return json.loads((self.results / "result.json").read_text())


@pytest.fixture
def toy():
    return ToyEnv


@pytest.fixture
def start(tmp_path):
    """start(env=…, seed=…, timesteps=…, wall_clock=…, stall=…) -> Running."""
    servers: list[Running] = []

    def make(env=None, *, seed=7, **limits):
        root = tmp_path / str(len(servers))
        root.mkdir()
        limits = {"timesteps": 1000, "wall_clock": WAIT, "stall": WAIT, **limits}
        servers.append(Running(env or ToyEnv(), root, Limits(**limits), seed=seed))
        return servers[-1]

    yield make
    for server in servers:
        server.dismiss()
        server.ended()
