"""One console in this process: loads a level, runs frames, and can restore any frame exactly."""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from pathlib import Path
from typing import Any

import numpy as np

from retro_agents.games.retro.integrations import (
    check_playable,
    file_of,
    kind_of,
    rom_hash,
    state_bytes,
)
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.scenario import Scenario, make_scenario
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import make_folder, next_number, number_of

BUTTON_NAMES = ("B", "A", "MODE", "START", "UP", "DOWN", "LEFT", "RIGHT", "C", "Y", "X", "Z")
"""The pad's buttons, in stable-retro's order."""
BUTTONS = len(BUTTON_NAMES)


class Emulator:
    """Runs one level at a time; `load` changes the level, in place if the ROM is the same.

    The library allows one emulator per process. The frames since the level's start state are
    stored as button masks. Replaying them restores any moment exactly, even with scenarios that
    have scripts, whose inner state cannot be read.
    """

    def __init__(self, level: Level, *, scenario: str, record_dir: Path | None) -> None:
        self.scenario_name = scenario
        self.record_dir = record_dir
        self.recordings = 0 if record_dir is None else next_number(record_dir)
        self.draft: Path | None = None
        """The file of the recording that is running."""
        self.again = 0
        """Recordings below this number are the run's own, which it makes again once resumed."""
        self.level = level
        self.retro: Any = None
        self.scenario: Scenario
        self.masks = array("H")
        self.start(level)

    def start(self, level: Level) -> None:
        """Open the level's ROM in a new emulator. Raises UserError if it cannot be played."""
        check_playable(level.game, level.state, scenario=self.scenario_name, native=False)
        state = state_bytes(level.game, level.state)
        self.close()
        import stable_retro  # slow to import

        try:
            self.retro = stable_retro.RetroEnv(
                level.game,
                state=stable_retro.State.NONE,
                scenario=self.scenario_name,
                inttype=kind_of(level.game),
                render_mode="rgb_array",
            )
        except (AssertionError, RuntimeError) as error:
            if "multiple emulator instances" not in str(error):
                raise UserError(f"{level.game} does not start: {error}") from None
            raise UserError(
                "this process already runs an emulator and can hold only one: "
                "close() the other environment first, or use make_vec"
            ) from None
        spec = json.loads(file_of(level.game, f"{self.scenario_name}.json").read_bytes())
        try:
            self.scenario = make_scenario(spec, self.retro.data)
        except UserError:
            self.close()
            raise
        self.retro.initial_state, self.level = state, level
        # All masks as arrays, made once; the filter drops opposite directions and the like.
        self.pads: dict[int, np.ndarray] = {}

    def load(self, level: Level) -> None:
        """Set the level that the next `reset` starts."""
        if level == self.level:
            return
        if level.game != self.level.game:
            self.start(level)
            return
        check_playable(level.game, level.state, scenario=self.scenario_name)
        self.stop_recording()  # under the name of its own level
        self.retro.initial_state = state_bytes(level.game, level.state)
        self.level = level

    def reset(self) -> None:
        """Go to the first frame of the level. Raises UserError if its state is refused."""
        self.stop_recording()
        self.masks = array("H")
        if not self.retro.em.set_state(self.retro.initial_state):
            raise UserError(f"the emulator refuses the state of {self.level}: save it in this one")
        self.retro.em.set_button_mask(self.pad(0), 0)
        self.retro.em.step()
        if self.record_dir is not None:
            self.start_recording(self.record_dir)
        self.scenario.reset()

    def pad(self, mask: int) -> np.ndarray:
        """Converts a button mask (bit i: button i) to the emulator's uint8 [12]."""
        pad = self.pads.get(mask)
        if pad is None:
            allowed = self.retro.data.filter_action(mask)
            pad = np.array([allowed >> i & 1 for i in range(BUTTONS)], np.uint8)
            self.pads[mask] = pad
        return pad

    def frame(self, mask: int) -> tuple[float, bool]:
        """Run one frame with these buttons held. Returns (reward, whether the episode ended)."""
        retro = self.retro
        pad = self.pad(mask)
        retro.em.set_button_mask(pad, 0)
        if retro.movie is not None:
            for button in range(BUTTONS):
                retro.movie.set_key(button, pad[button], 0)
            retro.movie.step()
        retro.em.step()
        self.masks.append(mask)
        return self.scenario.update()

    def screen(self) -> np.ndarray:
        """The current picture: uint8 [H, W, 3], a new array."""
        return self.retro.get_screen(apply_rotation=True)

    def variables(self) -> dict[str, int]:
        """The current values of the integration's variables."""
        return dict(self.retro.data.lookup_all())

    def start_recording(self, folder: Path) -> None:
        """Begin the next .bk2 in `folder`. The emulator must be at the level's first frame.

        Raises UserError if the folder is not writable, which the library would not report, or if
        its name is not UTF-8.
        """
        make_folder(folder)
        draft = folder / f".{os.getpid()}.bk2"
        try:
            self.retro.record_movie(str(draft))
        except UnicodeEncodeError:
            advice = "the emulator writes only where all names are UTF-8; give another place"
            raise UserError(f"cannot write {folder}: {advice}") from None
        self.draft = draft
        self.recordings += 1
        self.retro.movie.step()

    def stop_recording(self) -> None:
        """Write the running recording to its file. Raises UserError if it cannot be written."""
        draft, self.draft = self.draft, None
        if self.retro is None or draft is None:
            return
        self.retro.stop_record()
        name = f"{self.level.game}-{self.level.state}"
        number = number_of(draft.parent, name, self.recordings - 1, again=self.again)
        self.recordings = number + 1
        path = draft.parent / f"{name}-{number:06d}.bk2"
        if not draft.is_file():  # which the library does not report
            raise UserError(f"cannot write {path}: give a writable place with free space")
        draft.rename(path)

    def build(self) -> str:
        """A digest of ROM and start state, on which all that is replayed depends."""
        state = hashlib.sha1(self.retro.initial_state).hexdigest()
        return f"{rom_hash(self.level.game)[:8]}{state[:8]}"

    def save(self) -> dict[str, Any]:
        """The state for `restore`: build, level, frames since its start, number of recordings."""
        return {
            "build": self.build(),
            "game": self.level.game,
            "state": self.level.state,
            "masks": self.masks.tobytes(),
            "recordings": self.recordings,
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go to a saved moment by replaying its frames, and record it again. Raises UserError if
        another build of the game was played."""
        self.stop_recording()  # under its own number
        self.load(Level(saved["game"], saved["state"]))
        ours = self.build()
        if (theirs := saved.get("build", ours)) != ours:  # older states do not say
            raise UserError(
                f"the saved run played build {theirs} of {self.level}, this is {ours}: resume with "
                "the version of this project that started it, or start a new run with --init"
            )
        # The moment belongs to the recording that was running, the last one counted.
        # A run that was saved without recordings has counted none.
        if saved["recordings"]:
            self.recordings = saved["recordings"] - 1
        self.again = next_number(self.record_dir) if self.record_dir else 0
        self.reset()
        self.recordings = max(self.recordings, saved["recordings"])
        masks = array("H")
        masks.frombytes(saved["masks"])
        for mask in masks:
            self.frame(mask)

    def close(self) -> None:
        """End the recording and free this process's one emulator."""
        if self.retro is not None:
            self.stop_recording()
            self.retro.close()
            self.retro = None
