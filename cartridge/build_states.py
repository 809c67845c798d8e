"""python -m cartridge.build_states: boots the ROM, starts every act, and writes a state per act.

A state is saved on the act's first frame under control, so frame_counter is near 0. The files are
gzip without a time stamp: the same ROM gives the same bytes."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cartridge.levels.splits import level_names
from retro_agents.games.retro.bramble import GAME
from retro_agents.ground.errors import Parser, UserError, command

if TYPE_CHECKING:
    import stable_retro

INTEGRATION = Path(__file__).parent / "integration"
FOLDER = INTEGRATION / GAME
VARIABLES = tuple(json.loads((FOLDER / "data.json").read_text())["info"])
"""Names of the RAM variables."""
BOOT_FRAMES = 30
LOAD_FRAMES = 120
"""More frames than any act takes to load."""
STATE_BYTES = 144_677
"""The bytes of a state that the core writes; the rest of the buffer is not part of it."""
UNWRITTEN = slice(144_227, 144_275)
"""A range that the core leaves unwritten."""


def boot(game: str = GAME, *, integration: Path = INTEGRATION) -> stable_retro.RetroEnv:
    """Starts the game at its title, without a state. The caller closes it.

    integration: the folder that contains the game's folder; tests build games of their own."""
    if not (integration / game / "rom.md").exists():
        raise UserError(
            f"no ROM at {integration / game / 'rom.md'}: build it with `make -C cartridge`"
        )
    import stable_retro  # only the emulator needs it

    stable_retro.data.Integrations.add_custom_path(str(integration))
    env = stable_retro.make(
        game,
        state=stable_retro.State.NONE,
        inttype=stable_retro.data.Integrations.ALL,
        render_mode="rgb_array",
    )
    env.reset()
    for _ in range(BOOT_FRAMES):
        step(env)
    return env


def step(env: stable_retro.RetroEnv, *buttons: str) -> dict[str, int]:
    """One frame with these buttons held. Returns the RAM variables of data.json.

    They are read one by one from live memory: `update_ram` would copy all of it every frame."""
    env.em.set_button_mask(np.array([b in buttons for b in env.buttons], np.uint8), 0)
    env.em.step()
    return {name: env.data.lookup_value(name) for name in VARIABLES}


def start_act(env: stable_retro.RetroEnv, number: int, *, x: int = 0) -> dict[str, int]:
    """Go to an act (numbered from 1, over all zones) and stop at its first frame under control.

    x: start position in pixels, on the lowest ground there; 0 is the act's own start."""
    env.data.set_value("request_x", x)
    env.data.set_value("request_act", number)
    for _ in range(LOAD_FRAMES):
        info = step(env)
        if info["request_act"] == 0 and info["mode"] == 1 and info["frame_counter"] == 1:
            return info
    raise UserError(f"act {number} did not start: the ROM has fewer acts than the zones")


def _mappings() -> list[tuple[int, int]]:
    """High address ranges of this process, into which pointers may point."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    ranges = [line.split()[0].split("-") for line in lines]
    return [(int(a, 16), int(b, 16)) for a, b in ranges if int(a, 16) >= 1 << 40]


def clean(state: bytes) -> bytes:
    """Clears the process's pointers and leftover memory in a state: the same bytes every time.

    The core dumps its sound chip's structures with their pointers, and rebuilds them on loading;
    after its last byte, the buffer has arbitrary content."""
    words = np.frombuffer(state[: STATE_BYTES + 8], np.uint8)
    values = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(words, 8))
    addresses = values.view("<u8")[:, 0]
    cleared = bytearray(state[:STATE_BYTES])
    low, high = np.array(_mappings(), np.uint64).T  # in order, none in another
    place = np.searchsorted(low, addresses, "right")
    for at in np.flatnonzero((place > 0) & (addresses < high[place - 1])):
        cleared[at : at + 8] = bytes(8)
    cleared[UNWRITTEN] = bytes(UNWRITTEN.stop - UNWRITTEN.start)
    return bytes(cleared[:STATE_BYTES]).ljust(len(state), b"\0")


def act_states(env: stable_retro.RetroEnv) -> Iterator[tuple[str, bytes]]:
    """Yields (name, state) of every act, from a game that boot() has just started."""
    title = env.em.get_state()
    for number, name in enumerate(level_names(), start=1):
        env.em.set_state(title)
        start_act(env, number)
        yield name, clean(env.em.get_state())


def build(folder: Path = FOLDER) -> list[Path]:
    """Write every state of the game in a folder of its name, metadata.json and rom.sha, and remove
    states of acts that are gone."""
    written = []
    with closing(boot(folder.name, integration=folder.parent.resolve())) as env:
        for name, state in act_states(env):
            path = folder / f"{name}.state"
            path.write_bytes(gzip.compress(state, mtime=0))
            written.append(path)
    for path in set(folder.glob("*.state")) - set(written):
        path.unlink()
    default = {"default_state": level_names()[0]}
    (folder / "metadata.json").write_text(json.dumps(default, indent=2) + "\n")
    digest = hashlib.sha1((folder / "rom.md").read_bytes()).hexdigest()
    (folder / "rom.sha").write_text(digest + "\n")
    return written


@command
def main() -> None:
    """Write the states and print their names."""
    Parser(prog="python -m cartridge.build_states", description=__doc__).parse_args()
    for path in build():
        print(path)


if __name__ == "__main__":
    main()
