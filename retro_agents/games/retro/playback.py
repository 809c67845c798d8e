"""Plays a recording in a process of its own: `python -m retro_agents.games.retro.playback`,
started by `screens`.

A start state is a console's whole memory, and the emulator takes any: with a bad one it may crash,
or never end, deaf to Ctrl-C. So it runs apart, under a limit of time.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing.connection import Connection, Pipe
from pathlib import Path

import msgspec
import numpy as np

from retro_agents.games.retro.integrations import (
    add_custom_folders,
    custom_folders,
    kind_of,
    rom_of,
)
from retro_agents.games.retro.recordings import read_recording
from retro_agents.ground.errors import UserError
from retro_agents.run.agents import with_this_project

SECONDS = 60
"""Time for the emulator's start, and for each frame."""


def screens(recording: Path) -> Iterator[np.ndarray]:
    """Yields every screen of a .bk2, uint8 [H, W, 3], from the level's first frame on. Raises
    UserError if the file cannot be played."""
    read = read_recording(recording)
    if rom_of(read.game) is None:
        raise UserError(f"{read.game} has no ROM to play {recording} with")
    ours, theirs = Pipe(duplex=False)
    setup = {"custom_folders": custom_folders(), "recording": str(recording.absolute())}
    player = subprocess.Popen(
        [sys.executable, "-m", "retro_agents.games.retro.playback", str(theirs.fileno())],
        stdin=subprocess.PIPE,
        pass_fds=[theirs.fileno()],
        env={**os.environ, **with_this_project()},
        process_group=0,
    )
    theirs.close()
    assert player.stdin is not None
    try:
        with player.stdin as stdin:
            stdin.write(json.dumps(setup).encode())  # msgpack lacks names that are not UTF-8
        for frame in range(len(read.pads)):
            if not ours.poll(SECONDS):
                raise UserError(f"the emulator plays no frame {frame} of {recording}: record anew")
            shape, pixels = msgspec.msgpack.decode(ours.recv_bytes())
            if not shape:
                raise UserError(f"{recording} begins with no state of {read.game}: record anew")
            yield np.frombuffer(pixels, np.uint8).reshape(shape)
    except (EOFError, OSError):
        code = player.wait()
        raise UserError(f"the emulator ended on {recording} (code {code}): record anew") from None
    finally:
        player.kill()
        player.wait()
        ours.close()


def play(recording: Path) -> Iterator[np.ndarray]:
    """As `screens`, but in this process, which may hold one emulator; one empty screen if the
    emulator refuses the start state."""
    import stable_retro

    read = read_recording(recording)
    env = stable_retro.RetroEnv(
        read.game,
        state=stable_retro.State.NONE,
        inttype=kind_of(read.game),
        use_restricted_actions=stable_retro.Actions.ALL,
        render_mode="rgb_array",
    )
    with contextlib.closing(env):
        if not env.em.set_state(read.state):
            yield np.zeros((), np.uint8)
        for pad in read.pads:
            env.em.set_button_mask(pad, 0)
            env.em.step()
            yield env.get_screen(apply_rotation=True)


def main() -> None:
    """Send every screen of the recording that stdin names. The system's own timer ends this process
    if a frame does not end."""
    connection = Connection(int(sys.argv[1]), readable=False)
    setup = json.loads(sys.stdin.buffer.read())
    add_custom_folders(setup["custom_folders"])
    signal.alarm(SECONDS)
    with contextlib.suppress(BrokenPipeError):
        for screen in play(Path(setup["recording"])):
            signal.alarm(0)  # whoever reads may be stopped for a while, as by Ctrl-Z
            connection.send_bytes(msgspec.msgpack.encode([screen.shape, screen.tobytes()]))
            signal.alarm(SECONDS)


if __name__ == "__main__":
    main()
