"""One emulator in a process of its own: `python -m es.worker SOCKET`, started by emulators.py."""

import socket
import sys
import traceback
from typing import Any

import cv2

from experiment.errors import UserError
from retro_env import EnvConfig, Level, make_contest_env
from retro_env.integrations import add_custom_folders
from retro_env.make import wrap_agent
from retro_env.protocol import receive_message, send_last, send_message
from retro_env.wrappers import StepLimit


class Worker:
    """An environment that begins any level, with any seed and any cap."""

    def __init__(self, setup: dict[str, Any]) -> None:
        add_custom_folders(setup["custom_folders"])
        config = EnvConfig(**{**setup["config"], "episode_steps": 0})
        env = make_contest_env(Level(*setup["level"]), config)
        self.limit = StepLimit(env, steps=0)
        self.env = wrap_agent(self.limit, config)

    def begin(self, game: str, state: str, seed: int, steps: int) -> dict[str, Any]:
        """An episode; steps: its cap, 0: none."""
        self.limit.limit = steps
        obs, _ = self.env.reset(seed=seed, options={"level": Level(game, state)})
        return {"obs": obs.tobytes()}

    def step(self, action: int) -> dict[str, Any]:
        """An agent step; "episode" is there where it was the last one."""
        obs, reward, _, _, info = self.env.step(action)
        answer = {"obs": obs.tobytes(), "reward": float(reward)}
        if "episode" in info:
            answer["episode"] = info["episode"]
        return answer


def serve(sock: socket.socket) -> None:
    """Answer until the parent has gone; errors travel to it as one message."""
    cv2.setNumThreads(1)
    try:
        worker = Worker(receive(sock))
        send_message(sock, ["ok", {}])
        while True:
            name, *arguments = receive(sock)
            send_message(sock, ["ok", getattr(worker, name)(*arguments)])
    except (BrokenPipeError, ConnectionResetError, EOFError):
        pass
    except UserError as error:
        send_last(sock, ["user-error", str(error)])
    except Exception:
        send_last(sock, ["error", traceback.format_exc()])


def receive(sock: socket.socket) -> Any:
    """The next message. Errors: EOFError."""
    if not sock.recv(1):
        raise EOFError
    return receive_message(sock)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
