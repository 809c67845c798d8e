"""An agent's function, and functions that fail."""

import subprocess
import time

from retro_agents.ground.errors import UserError


def play(env):
    """Runs right (1), jumping (6) in 4 of 24 steps, until `env` ends it by raising an exception."""
    _, info = env.reset()
    while True:
        action = 6 if info["steps"] % 24 >= 20 else 1
        _, _, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            _, info = env.reset()


def crash(env):
    env.reset()
    for _ in range(60):
        env.step(1)
    raise ValueError("lost")


def crash_before_playing(env):
    raise ValueError("no idea")


def refuse(env):
    raise UserError("no such setting")


def nothing(env):
    pass


def leave_a_child(env):
    env.reset()
    for _ in range(30):
        env.step(1)
    subprocess.Popen(["sleep", "600"], close_fds=False)


def linger(env):
    try:
        play(env)
    except TimeoutError:
        time.sleep(600)
