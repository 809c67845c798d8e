"""Plays an agent's episodes, and makes films of them."""

import dataclasses
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.envs import ROUNDING
from retro_agents.contract.policy import Play, Policy, ScoringPolicy
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.contest_env import FRAMES_PER_SECOND
from retro_agents.ground.film import enlarged, write_video
from retro_agents.ground.output import printable
from retro_agents.judging.demonstrate import replayed
from retro_agents.judging.score import Episode, as_episode
from retro_agents.run.fields import NOTHING

PATIENCE = 20
"""Seconds without a new highest return after which an episode ends, unless --whole is given."""
SCALE, STRIP = 2, 56
"""Magnification of the screen, and height in pixels of the text and values below it."""
GREEN, WHITE, GREY, RED = (110, 220, 130), (255, 255, 255), (120, 120, 120), (230, 90, 80)
SMOOTH = 2
"""Game frames between two moments of a recording: 30 a second."""
LAST_SECONDS = 2
"""Time for which a film shows its last picture, so that its texts can be read."""


class Screen(NamedTuple):
    """A screen, compressed from 0.2 MB to about 10 kB; a PNG would take twice the time."""

    packed: bytes
    shape: tuple[int, ...]

    @classmethod
    def of(cls, screen: NDArray[np.uint8]) -> "Screen":
        """Compress a screen [H, W, 3]."""
        return cls(zlib.compress(np.ascontiguousarray(screen).data, 1), screen.shape)

    def unpacked(self) -> NDArray[np.uint8]:
        """The screen, [H, W, 3]."""
        return np.frombuffer(zlib.decompress(self.packed), np.uint8).reshape(self.shape)


class Moment(NamedTuple):
    """What is shown of a step. values: the agent's, of each action; [] if it has none."""

    screen: Screen
    action: int
    total: float
    values: list[float]


def moments_of(recording: Path, steps: Sequence[Moment] = ()) -> list[Moment]:
    """The moments of an agent's .bk2, 30 a second. steps: those of its agent steps, if known, whose
    actions and values are shown. Raises UserError if it cannot be played back."""
    screens = EnvConfig(image_height=224, image_width=320, colour="rgb", frame_skip=SMOOTH)
    episode = replayed(recording, screens)
    assert episode.frames is not None
    shown = zip(episode.frames[1:], episode.actions, np.cumsum(episode.rewards), strict=True)
    found = [
        Moment(Screen.of(frame.transpose(1, 2, 0)), int(action), total, [])
        for frame, action, total in shown
    ]
    each = EnvConfig().frame_skip // SMOOTH
    known = [step for step in steps for _ in range(each)]
    return [
        one._replace(action=step.action, values=step.values)
        for one, step in zip(found, known, strict=False)
    ] or found


def end_of(episode: Episode) -> str:
    """How an episode ended, in capitals."""
    if episode.finished:
        return "FINISHED"
    if not episode.complete:
        return "GAVE UP"  # it was cut, for want of progress
    return "DIED" if episode.l < EnvConfig().episode_steps else "TIME IS UP"


def play_episode(
    policy: Policy,
    env: gymnasium.Env,
    *,
    seed: int,
    play: Play | None = None,
    patience: int = 0,
    on_step: Callable[[int], None] | None = None,
    on_moment: Callable[[Moment], bool | None] | None = None,
) -> Episode:
    """Play an episode. env: with raw rewards. play: as for `Policy.act`.
    patience: agent steps without a new highest return after which it ends, incomplete; 0: no limit.

    on_step(steps done): for showing progress. on_moment(moment): called after each step with its
    screen and values; if it returns True, the episode ends, incomplete.
    """
    obs, _ = env.reset(seed=seed)
    starts, total, furthest, step, since = np.ones(1, bool), 0.0, 0.0, 0, 0
    while True:
        values = values_of(policy, obs) if on_moment else []
        action = int(policy.act(obs[np.newaxis], play=play, starts=starts)[0])
        obs, reward, terminated, truncated, info = env.step(action)
        starts = np.zeros(1, bool)
        step, total = step + 1, total + float(reward)
        if total > furthest + ROUNDING:
            since, furthest = step, total
        stopped: bool | None = False
        if on_moment is not None:
            screen = Screen.of(np.asarray(env.render()))
            stopped = on_moment(Moment(screen, action, total, values))
        if on_step is not None:
            on_step(step)
        if terminated or truncated:
            return as_episode(info["episode_record"])
        if stopped or 0 < patience <= step - since:
            cut = env.get_wrapper_attr("episode")()
            return dataclasses.replace(as_episode(cut), complete=False)


def values_of(policy: Any, obs: NDArray[np.uint8]) -> list[float]:
    """The values that a policy predicts for each action; [] if it predicts none or has a memory."""
    if not isinstance(policy, ScoringPolicy) or policy.recurrent:
        return []
    import torch  # imported here, because it takes seconds and only nets need it

    with torch.no_grad():
        scores = policy.scores(torch.from_numpy(obs[np.newaxis]).to(policy.device))
    return [float(score) for score in scores[0]]


def film(
    path: Path,
    players: Mapping[str, Sequence[Moment]],
    names: Sequence[str],
    *,
    frame_skip: int,
    ends: Mapping[str, str] = NOTHING,
    until: Sequence[str] = (),
) -> Path:
    """Film one episode of each player side by side and in step, ended ones in grey -> an .mp4.

    names: of the actions. frame_skip: game frames between two moments. ends: of players, how their
    episodes ended. until: players with whose last end the film ends; default: all.
    """
    columns = min(len(players), 3 if len(players) > 4 else 2)
    length = max(len(players[label]) for label in until or players) + 1
    fps = FRAMES_PER_SECOND / frame_skip
    height, width, _ = picture(*next(iter(players.items())), 0, names).shape
    canvas = np.zeros((-(-len(players) // columns) * height, columns * width, 3), np.uint8)

    def frames() -> Iterator[NDArray[np.uint8]]:
        for at in [*range(length), *[length - 1] * round(LAST_SECONDS * fps)]:
            for place, (label, seen) in enumerate(players.items()):
                if at <= len(seen):  # afterwards the picture does not change
                    y, x = place // columns * height, place % columns * width
                    canvas[y : y + height, x : x + width] = picture(
                        label, seen, at, names, end=ends.get(label, "over")
                    )
            yield canvas

    return write_video(path, frames(), fps=fps, output_params=["-preset", "veryfast"])


def picture(
    label: str, seen: Sequence[Moment], at: int, names: Sequence[str], *, end: str = "over"
) -> NDArray[np.uint8]:
    """A player's screen at a step, uint8 [H, W, 3]; below it action, return, and a bar for the
    predicted value of each action, labelled with the buttons' initials. end: shown afterwards."""
    import cv2  # slow to import

    moment = seen[min(at, len(seen) - 1)]
    over = at >= len(seen)
    image = moment.screen.unpacked()
    if over:
        image = np.repeat(image.mean(axis=-1, keepdims=True) // 2, 3, axis=-1).astype(np.uint8)
    image = enlarged(image, SCALE)
    if over:
        mark(image, end)
    strip = np.zeros((STRIP, image.shape[1], 3), np.uint8)
    doing = end if over else names[moment.action] or "no button"
    # OpenCV crashes at a name that is no UTF-8.
    for text, y in ((printable(label), 20), (f"{doing}   return {moment.total:,.0f}", 46)):
        colour = GREY if over else WHITE
        cv2.putText(strip, text, (8, y), cv2.FONT_HERSHEY_SIMPLEX, 0.6, colour, 1, cv2.LINE_AA)
    low, high = min(moment.values, default=0.0), max(moment.values, default=0.0)
    for number, value in enumerate(moment.values):
        x = image.shape[1] - 24 * (len(moment.values) - number)
        height = int((value - low) / max(high - low, 1e-9) * (STRIP - 26))
        colour = GREEN if number == moment.action else GREY
        cv2.rectangle(strip, (x, STRIP - 20 - height), (x + 18, STRIP - 18), colour, -1)
        buttons = "".join(button[0] for button in names[number].split()) or "-"
        at_x, font = (x, STRIP - 4), cv2.FONT_HERSHEY_SIMPLEX
        cv2.putText(strip, buttons, at_x, font, 0.4, colour, 1, cv2.LINE_AA)
    return np.vstack([image, strip])


def mark(image: NDArray[np.uint8], end: str) -> None:
    """Write how an episode ended into its last screen, and frame it in the colour of that."""
    import cv2

    colour = {"FINISHED": GREEN, "DIED": RED}.get(end, GREY)
    height, width, _ = image.shape
    cv2.rectangle(image, (0, 0), (width - 1, height - 1), colour, 5 * SCALE)
    font, size = cv2.FONT_HERSHEY_DUPLEX, 0.8 * SCALE
    (long, high), _ = cv2.getTextSize(end, font, size, 2)
    place = (width - long) // 2, (height + high) // 2
    cv2.putText(image, end, place, font, size, colour, 2, cv2.LINE_AA)


def keep_best(recordings: Path, returns: Sequence[float], target: Path) -> None:
    """Of the .bk2 of each episode, keep the one with the highest return, as `target`."""
    files = sorted(recordings.glob("**/*.bk2"))
    if returns and len(files) >= len(returns):
        files[returns.index(max(returns))].rename(target)
    shutil.rmtree(recordings, ignore_errors=True)
