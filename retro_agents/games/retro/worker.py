"""The worker processes of a vector environment: `python -m retro_agents.games.retro.worker`,
started by vector.py.

This process imports the modules of an environment once, then forks a worker per emulator. This is
fast, and safe whatever threads the parent runs, since the parent itself is not forked. Each worker
has a connection of its own, whose end shows at once that the worker, or the parent, has ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import cv2
import gymnasium
import msgspec
import numpy as np

from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.integrations import add_custom_folders
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_rotating_env, restore_env, save_env
from retro_agents.games.retro.shrink import AreaShrinker
from retro_agents.ground.errors import UserError
from retro_agents.ground.processes import ENDS


class Worker:
    """One environment, with a method for each command of the parent."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.pixels = b""
        """The observation that the agent acts on next."""

    def on_step(self, action: int) -> tuple[bytes, float, bool, bool, dict[str, Any] | None]:
        """One agent step. Returns observation, reward, terminated, truncated, and the record of an
        ended episode; the observation is then the first of the next one."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        ended = None
        if terminated or truncated:
            ended = {"final_obs": obs.tobytes(), "episode": info["episode_record"]}
            obs, first = self.env.reset()
            ended["level"] = first["level"]
        self.pixels = obs.tobytes()
        return self.pixels, float(reward), bool(terminated), bool(truncated), ended

    def on_reset(self, start: dict[str, Any]) -> dict[str, Any]:
        """Begin a new episode, on the given level if any. Returns its level and a cut episode."""
        options = {"level": Level(*start["level"])} if start["level"] else None
        obs, info = self.env.reset(seed=start["seed"], options=options)
        self.pixels = obs.tobytes()
        cut = info.get("episode_record")
        return {"obs": self.pixels, "level": str(info["level"]), "episode": cut}

    def on_render(self, _: None) -> dict[str, Any]:
        """The current screen."""
        screen = self.env.render()
        return {"shape": screen.shape, "pixels": screen.tobytes()}

    def on_variables(self, _: None) -> dict[str, int]:
        """The current values of the integration's variables."""
        variables: dict[str, int] = self.env.unwrapped.emulator.variables()
        return variables

    def on_save(self, _: None) -> dict[str, Any]:
        """The environment's whole state, with the observation that the agent acts on next."""
        return {**save_env(self.env), "obs": self.pixels}

    def on_restore(self, saved: dict[str, Any]) -> str:
        """Resume from a saved state. Returns its level."""
        restore_env(self.env, saved)
        self.pixels = saved["obs"]
        return str(saved["EpisodeRecord"]["level"])


def make_worker_env(setup: dict[str, Any], index: int) -> gymnasium.Env:
    """The environment of worker `index`."""
    levels = [Level(game, state) for game, state in setup["levels"][index]]
    folder = setup["record_dir"]
    return make_rotating_env(
        levels,
        EnvConfig(**setup["config"]),
        rotate_every=setup["rotate_every"],
        record_dir=None if folder is None else Path(folder) / f"env-{index:02d}",
    )


def tell(connection: Connection, status: str, value: Any) -> None:
    """Answer the parent: ok, user-error or error."""
    connection.send_bytes(msgspec.msgpack.encode([status, value]))


def run_worker(connection: Connection, setup: dict[str, Any], index: int) -> None:
    """Runs a worker; an error is sent to the parent as one message. The worker exits if the parent
    has gone."""
    cv2.setNumThreads(1)
    env = None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        try:
            env = make_worker_env(setup, index)
            tell(connection, "ok", os.getpid())
            worker = Worker(env)
            while True:
                name, argument = msgspec.msgpack.decode(connection.recv_bytes())
                tell(connection, "ok", getattr(worker, f"on_{name}")(argument))
        except UserError as error:
            tell(connection, "user-error", str(error))
        except Exception:  # such as the connection's end
            tell(connection, "error", traceback.format_exc())
        finally:
            try:
                if env is not None:
                    env.close()
            except UserError as error:  # the recording; the parent no longer listens
                print(f"error: {error}", file=sys.stderr, flush=True)


def main() -> None:
    """Read the set-up from stdin, fork the workers, and wait until they exit."""
    for number in (signal.SIGINT, *ENDS):  # sent to all processes; the run ends workers
        signal.signal(number, signal.SIG_IGN)
    setup = json.loads(sys.stdin.buffer.read())
    connections = [Connection(descriptor) for descriptor in setup["connections"]]
    add_custom_folders(setup["custom_folders"])
    # Compiled, or loaded from the cache, once for all workers.
    AreaShrinker(height=1, width=1)(np.zeros((2, 2, 1), np.uint8))
    children = []
    for index, connection in enumerate(connections):
        child = os.fork()
        if child == 0:
            for other in connections:
                if other is not connection:
                    other.close()
            run_worker(connection, setup, index)
            sys.stdout.flush()
            os._exit(0)
        children.append(child)
    for connection in connections:
        connection.close()
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
