"""Plays an agent in a process of its own, for the page: `python -m retro_agents.studio.player`.

Standard input has a line of JSON that says who plays where, then a line for each word of the page;
when it closes, this process ends. Standard output has pictures, each behind its length: a header as
JSON behind its own length, then the screen's length and the screen, then what the net sees.
"""

import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any, BinaryIO, Literal, final

import msgspec
import numpy as np
from numpy.typing import NDArray

from retro_agents.games.families import make
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.make import make_env
from retro_agents.games.retro.references import REFERENCES
from retro_agents.games.retro.video import FRAMES_PER_SECOND
from retro_agents.ground.errors import command
from retro_agents.judging.policies import load_policy
from retro_agents.run.checkpoint import load_agent
from retro_agents.studio.mind import Looks, thought

LATE = 0.25
"""Seconds that are not caught up with."""
STEPS_PER_SECOND = 15
"""Steps a second of games that are not played frame by frame."""


class Part(msgspec.Struct):
    """Who plays where. agent: a checkpoint's folder or a name, as for `load_policy`."""

    agent: str
    level: str
    seed: int = 0


class Word(msgspec.Struct, forbid_unknown_fields=True):
    """What the page asks for. look, blind: whether it shows where the net looks. speed: times the
    game's own. action: the one that a person holds; None: the agent plays."""

    do: Literal["seen", "pause", "go", "step", "speed", "act", "again", "look", "blind"]
    speed: float = 1.0
    action: int | None = None


@final
class Controls:
    """What the page has asked for last."""

    def __init__(self) -> None:
        self.paused, self.single, self.again, self.looks = False, False, False, False
        self.speed = 1.0
        self.action: int | None = None
        self._changed = threading.Condition()
        self._due = time.monotonic()

    def take(self, word: Word) -> None:
        """Do what a word asks for."""
        with self._changed:
            self.paused = {"pause": True, "step": True, "go": False}.get(word.do, self.paused)
            self.looks = {"look": True, "blind": False}.get(word.do, self.looks)
            self.single = self.single or word.do == "step"
            self.again = self.again or word.do == "again"
            if word.do == "speed":
                self.speed = min(max(word.speed, 0.1), 16.0) if word.speed == word.speed else 1.0
            if word.do == "act":
                self.action = word.action
            self._changed.notify()

    def wait(self) -> None:
        """Wait while the game is paused."""
        with self._changed:
            self._changed.wait_for(lambda: self.single or self.again or not self.paused)
            self.single = False

    def pace(self, per_second: float) -> None:
        """Wait until the next picture is due."""
        self._due = max(self._due + 1 / (per_second * self.speed), time.monotonic() - LATE)
        time.sleep(max(0.0, self._due - time.monotonic()))

    def listen(self, words: BinaryIO) -> None:
        """Take words in a thread until there are no more; then this process ends."""

        def take() -> None:
            for line in words:
                self.take(msgspec.json.decode(line, type=Word))
            os._exit(0)

        threading.Thread(target=take, daemon=True).start()


def png(picture: NDArray[np.uint8]) -> bytes:
    """A picture [H,W] or [H,W,3] as a PNG."""
    import cv2  # slow to import

    colours = picture if picture.ndim == 2 else picture[..., ::-1]
    return bytes(cv2.imencode(".png", colours, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1])


def beside(images: NDArray[np.uint8], channels: int) -> NDArray[np.uint8]:
    """The frames of an observation [C,H,W] side by side, the oldest first."""
    frames = images.reshape(-1, channels, *images.shape[1:])
    row = np.concatenate([*frames], axis=-1)
    return row[0] if channels == 1 else row.transpose(1, 2, 0)


@final
class Show:
    """Sends pictures. header: what is said with each."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self.header: dict[str, Any] = {}
        self.seen = b""

    def send(self, screen: NDArray[np.uint8]) -> None:
        """Send a screen [H,W,3] with the newest header."""
        header, picture = msgspec.json.encode(self.header), png(screen)
        parts = struct.pack("<I", len(header)), header, struct.pack("<I", len(picture)), picture
        body = b"".join((*parts, self.seen))
        self._out.write(struct.pack("<I", len(body)) + body)
        self._out.flush()


Step = tuple[NDArray[np.uint8], float, bool]


@contextmanager
def retro_game(
    part: Part, settings: EnvConfig, screen: Callable[[NDArray[np.uint8]], None]
) -> Iterator[tuple[Callable[[int], NDArray[np.uint8]], Callable[[int], Step]]]:
    """A platform game in the emulator, shown frame by frame: its reset and step."""
    env = make_env(part.level, replace(settings.with_raw_rewards(), backend="emulator"))
    with closing(env):
        contest: Any = env.unwrapped
        contest.on_frame = lambda: screen(contest.render())

        def reset(seed: int) -> NDArray[np.uint8]:
            return np.asarray(env.reset(seed=seed)[0])

        def step(action: int) -> Step:
            obs, reward, terminated, truncated, _ = env.step(action)
            return obs, float(reward), terminated or truncated

        yield reset, step


@contextmanager
def other_game(
    part: Part, settings: Any, screen: Callable[[NDArray[np.uint8]], None]
) -> Iterator[tuple[Callable[[int], NDArray[np.uint8]], Callable[[int], Step]]]:
    """A game of another family, shown as the agent sees it: its reset and step."""
    envs: Any = make(part.level, settings.with_raw_rewards(), num_envs=1, seed=part.seed)
    channels = envs.env_spec.channels
    with closing(envs):

        def reset(seed: int) -> NDArray[np.uint8]:
            return np.asarray(envs.reset(seed=seed)[0][0])

        def step(action: int) -> Step:
            obs, rewards, terminated, truncated, _ = envs.step(np.array([action]))
            picture = beside(obs[0, -channels:], channels)
            screen(picture if channels == 3 else np.repeat(picture[..., None], 3, -1))
            return obs[0], float(rewards[0]), bool(terminated[0] or truncated[0])

        yield reset, step


def play(part: Part, show: Show, controls: Controls) -> None:
    """Play episodes until this process ends."""
    if part.agent in REFERENCES:
        policy, settings = load_policy(part.agent, seed=part.seed)
    else:
        policy = load_agent(part.agent)
        settings = policy.config.env
    looks = Looks(policy)
    spec, retro = settings.spec(), isinstance(settings, EnvConfig)
    rate = FRAMES_PER_SECOND if retro else STEPS_PER_SECOND

    def screen(picture: NDArray[np.uint8]) -> None:
        controls.pace(rate)
        show.send(picture)

    game = retro_game if retro else other_game
    with game(part, settings, screen) as (reset, step):
        for episode in range(2**31):
            obs, starts = reset(part.seed + episode), np.ones(1, bool)
            total, steps, over, controls.again = 0.0, 0, False, False
            while not over and not controls.again:
                controls.wait()
                held = controls.action
                show.seen = png(beside(obs, spec.channels))
                action = int(policy.act(obs[np.newaxis], starts=starts)[0])
                starts = np.zeros(1, bool)
                if held is not None and 0 <= held < len(spec.action_names):
                    action = held
                show.header = {
                    "episode": episode,
                    "step": steps,
                    "total": total,
                    "action": action,
                    "names": spec.action_names,
                    "held": held is not None,
                    **thought(policy, obs),
                    **({"looks": looks.at(obs)} if controls.looks else {}),
                }
                obs, reward, over = step(action)
                total, steps = total + reward, steps + 1


@command
def main() -> None:
    """Play what the first line says. What libraries print goes to standard error."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    words: Any = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115  until the end
    part = msgspec.json.decode(words.readline(), type=Part)
    controls = Controls()
    controls.listen(words)
    play(part, Show(out), controls)


if __name__ == "__main__":
    main()
