"""Films of what an agent observes while it learns."""

import sys
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.envs import Step, VectorEnv
from retro_agents.ground.errors import UserError
from retro_agents.ground.film import write_video

FPS = 15
"""Agent steps shown in a second of film: a platform game's speed."""


@final
class Filmed:
    """A vector environment whose first row is filmed: the first episode that begins after each
    `every` agent steps of all rows becomes FOLDER/0001-LEVEL.mp4, …"""

    def __init__(
        self, envs: VectorEnv, folder: Path, *, every: float, start_steps: float = 0.0
    ) -> None:
        """start_steps: of a resumed run, which may start in the middle of an episode."""
        self.envs, self.folder, self.every, self.steps = envs, folder, every, start_steps
        self.due = start_steps - start_steps % every + every
        self.filming = start_steps == 0
        self.frames: list[NDArray[np.uint8]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.envs, name)

    def step(self, actions: NDArray[np.integer]) -> Step:
        """See `VectorEnv`."""
        self.envs.step_async(actions)
        return self.step_wait()

    def step_wait(self, part: slice | None = None) -> Step:
        """See `VectorEnv`."""
        obs, rewards, terminated, truncated, infos = self.envs.step_wait(part)
        self.steps += len(obs)
        if part is None or not part.start:
            over = terminated[0] or truncated[0]
            if self.filming:
                self.add(infos["final_obs"][0] if over else obs[0])
            if over:
                self.end(infos)
        return obs, rewards, terminated, truncated, infos

    def add(self, image: NDArray[np.uint8]) -> None:
        """Store the newest frame of an observation [C,H,W]."""
        channels = self.env_spec.channels
        frame = np.moveaxis(image[-channels:], 0, -1)
        self.frames.append(np.repeat(frame, 3 // channels, axis=-1))

    def end(self, infos: dict[str, Any]) -> None:
        """End the first row's episode: write its film, and decide whether to film the next one."""
        if self.filming:
            # envs.levels may already show the next level, which another part's step begins.
            level = infos["episode_record"]["level"][0].rpartition(":")[2]
            firsts = [path.name.partition("-")[0] for path in self.folder.glob("*-*.mp4")]
            number = max((int(first) for first in firsts if first.isdecimal()), default=0) + 1
            path = self.folder / f"{number:04d}-{level}.mp4"
            try:
                write_video(path, self.frames, fps=FPS, scale=3)
            except (UserError, OSError) as error:  # the training is worth more than a film
                print(f"warning: no film of this episode: {error}", file=sys.stderr)
            self.frames.clear()
        self.filming = self.steps >= self.due
        if self.filming:
            self.due = self.steps + self.every
