"""The processes behind a vector environment: `python -m retro_env.worker`, started by vector.py.

This process imports what an environment needs once, then forks one worker per emulator: quick,
and safe whatever threads the parent runs, since nothing of the parent is forked. Each worker
talks over its own socket, so that its end, or the parent's, shows at once as the socket's end.
"""

from __future__ import annotations

import mmap
import os
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

import cv2
import gymnasium
import msgspec
import numpy as np

from experiment.errors import UserError
from retro_env.area import AreaShrinker
from retro_env.config import EnvConfig
from retro_env.integrations import add_custom_folders
from retro_env.levels import Level
from retro_env.make import make_rotating_env, restore_env, save_env
from retro_env.protocol import (
    PLAIN,
    STEP,
    SharedBatch,
    receive_message,
    send_last,
    send_message,
)


class Worker:
    """One environment, its row in the shared batch, and its socket to the parent."""

    def __init__(self, sock: socket.socket, batch: SharedBatch, index: int, env: Any) -> None:
        self.sock = sock
        self.index = index
        self.env = env
        self.batch = batch
        self.obs = batch.obs[index]

    def serve(self) -> None:
        """Answer until the parent closes its side."""
        while True:
            kind = self.sock.recv(1)
            if not kind:
                return
            if kind == STEP:
                self.step()
            else:
                name, argument = receive_message(self.sock)
                send_message(self.sock, ["ok", getattr(self, f"on_{name}")(argument)])

    def step(self) -> None:
        """One agent step; at an episode's end also the next episode's first observation."""
        i, batch = self.index, self.batch
        obs, reward, terminated, truncated, info = self.env.step(int(batch.actions[i]))
        batch.rewards[i] = reward
        batch.terminated[i], batch.truncated[i] = terminated, truncated
        if not (terminated or truncated):
            self.obs[:] = obs
            self.sock.sendall(PLAIN)
            return
        batch.final_obs[i] = obs
        self.obs[:], first_info = self.env.reset()
        episode, level = info["episode_record"], first_info["level"]
        send_message(self.sock, ["ok", {"episode": episode, "level": level}])

    def on_reset(self, start: dict[str, Any]) -> dict[str, Any]:
        """A new episode, on a level if one is given -> its level, and the one that it cuts."""
        options = {"level": Level(*start["level"])} if start["level"] else None
        self.obs[:], info = self.env.reset(seed=start["seed"], options=options)
        return {"level": str(info["level"]), "episode": info.get("episode_record")}

    def on_render(self, _: None) -> dict[str, Any]:
        """The screen now."""
        screen = self.env.render()
        return {"shape": screen.shape, "pixels": screen.tobytes()}

    def on_save(self, _: None) -> dict[str, Any]:
        """The environment's whole state, with the observation that the agent acts on next."""
        return {**save_env(self.env), "obs": self.obs.tobytes()}

    def on_restore(self, saved: dict[str, Any]) -> str:
        """Continue from a saved state; the answer is its level."""
        restore_env(self.env, saved)
        self.obs[:] = np.frombuffer(saved["obs"], np.uint8).reshape(self.obs.shape)
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


def run_worker(sock: socket.socket, setup: dict[str, Any], batch: SharedBatch, index: int) -> None:
    """A worker's whole life; errors travel to the parent as one message."""
    cv2.setNumThreads(1)
    env = None
    try:
        env = make_worker_env(setup, index)
        send_message(sock, ["ok", os.getpid()])
        Worker(sock, batch, index, env).serve()
    except (BrokenPipeError, ConnectionResetError, EOFError):
        pass  # the parent has gone: so do we
    except UserError as error:
        send_last(sock, ["user-error", str(error)])
    except Exception:
        send_last(sock, ["error", traceback.format_exc()])
    finally:
        if env is not None:
            env.close()


def main() -> None:
    """Read the set-up from stdin, fork the workers, wait for their end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    setup = msgspec.msgpack.decode(sys.stdin.buffer.read())
    sockets = [socket.socket(fileno=fd) for fd in setup["sockets"]]
    add_custom_folders(setup["custom_folders"])
    shape = EnvConfig(**setup["config"]).observation_shape
    batch = SharedBatch(mmap.mmap(setup["memory"], 0), num_envs=len(sockets), shape=shape)
    # Compiled, or read from its cache, once for all workers.
    AreaShrinker(height=1, width=1)(np.zeros((2, 2, 1), np.uint8))
    children = []
    for index in range(len(sockets)):
        child = os.fork()
        if child == 0:
            for other, sock in enumerate(sockets):
                if other != index:
                    sock.close()
            run_worker(sockets[index], setup, batch, index)
            sys.stdout.flush()
            os._exit(0)
        children.append(child)
    for sock in sockets:
        sock.close()
    for child in children:
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
