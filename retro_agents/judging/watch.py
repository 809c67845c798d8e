# PYTHON_ARGCOMPLETE_OK
"""Watching agents play: in a window, and in films.

retro-agents watch ppo2 --explore
"""

import dataclasses
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import cycle
from pathlib import Path
from typing import Any, Literal, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.policy import Policy, ScoringPolicy
from retro_agents.games.families import HELD_OUT
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.make import make_env
from retro_agents.games.retro.video import FRAMES_PER_SECOND
from retro_agents.ground.errors import command
from retro_agents.ground.film import enlarged, write_video
from retro_agents.ground.ranges import Seed
from retro_agents.ground.window import open_window, pressed, show
from retro_agents.judging.demonstrate import replayed
from retro_agents.judging.levels import playable_levels
from retro_agents.judging.policies import load_policy
from retro_agents.judging.score import Episode, as_episode
from retro_agents.run.config import parse_command
from retro_agents.run.fields import positional

PATIENCE = 20
"""Seconds without a new highest return after which an episode ends, unless it is to be whole."""
SCALE, STRIP = 2, 56
"""Enlargement of the screen, and pixels below it for words and values."""
GREEN, WHITE, GREY = (110, 220, 130), (255, 255, 255), (120, 120, 120)


class Screen(NamedTuple):
    """A screen in 10 kB or so, which takes 0.2 MB as it is; a PNG takes twice the time."""

    packed: bytes
    shape: tuple[int, ...]

    @classmethod
    def of(cls, screen: NDArray[np.uint8]) -> "Screen":
        """Of [H, W, 3]."""
        return cls(zlib.compress(np.ascontiguousarray(screen).data, 1), screen.shape)

    def unpacked(self) -> NDArray[np.uint8]:
        """[H, W, 3]."""
        return np.frombuffer(zlib.decompress(self.packed), np.uint8).reshape(self.shape)


class Moment(NamedTuple):
    """What is shown of a step. values: the agent's, of each action; [] where it has none."""

    screen: Screen
    action: int
    total: float
    values: list[float]


def moments_of(recording: Path) -> list[Moment]:
    """What is shown of a .bk2 of an agent's play. UserError: it cannot be played again."""
    screens = EnvConfig(image_height=224, image_width=320, colour="rgb")
    episode = replayed(recording, screens)
    assert episode.frames is not None
    shown = zip(episode.frames[1:], episode.actions, np.cumsum(episode.rewards), strict=True)
    return [
        Moment(Screen.of(frame.transpose(1, 2, 0)), int(action), total, [])
        for frame, action, total in shown
    ]


def watch(
    policy: Policy,
    env: gymnasium.Env,
    *,
    seed: int,
    explore: bool = False,
    patience: int = 0,
    filmed: bool = False,
    on_step: Callable[[int], None] | None = None,
    on_moment: Callable[[Moment], bool] | None = None,
) -> tuple[Episode, list[Moment]]:
    """An episode; `filmed`: and what there was to be seen.

    env: with raw rewards. explore: act as while it learns.
    patience: agent steps without a new highest return after which it ends, incomplete; 0: never.
    on_step(steps done): for showing progress. on_moment(moment): called after each step; the
    episode ends, incomplete, if it returns True.
    """
    obs, _ = env.reset(seed=seed)
    starts, moments = np.ones(1, bool), []
    total = furthest = 0.0
    step = since = 0
    while True:
        values = values_of(policy, obs) if filmed or on_moment else []
        action = int(policy.act(obs[np.newaxis], explore=explore, starts=starts)[0])
        obs, reward, terminated, truncated, info = env.step(action)
        starts = np.zeros(1, bool)
        step, total = step + 1, total + float(reward)
        if total > furthest:
            since, furthest = step, total
        stopped = False
        if filmed or on_moment:
            moment = Moment(Screen.of(np.asarray(env.render())), action, total, values)
            moments += [moment] if filmed else []
            stopped = on_moment is not None and on_moment(moment)
        if on_step is not None:
            on_step(step)
        if terminated or truncated:
            return as_episode(info["episode_record"]), moments
        if stopped or 0 < patience <= step - since:
            cut = env.get_wrapper_attr("episode")()
            return dataclasses.replace(as_episode(cut), complete=False), moments


def values_of(policy: Any, obs: NDArray[np.uint8]) -> list[float]:
    """What it expects of each action; [] of one that expects nothing, or by what it remembers."""
    if not isinstance(policy, ScoringPolicy) or policy.recurrent:
        return []
    import torch  # which takes seconds, and is loaded if there is a net

    with torch.no_grad():
        scores = policy.scores(torch.from_numpy(obs[np.newaxis]).to(policy.device))
    return [float(score) for score in scores[0]]


def film(
    path: Path, players: Mapping[str, Sequence[Moment]], names: Sequence[str], *, frame_skip: int
) -> Path:
    """One episode of each, side by side and in step, those that are over in grey -> an .mp4.

    names: of the actions.
    """
    columns = min(len(players), 3 if len(players) > 4 else 2)
    length = max(map(len, players.values()))
    height, width, _ = picture(*next(iter(players.items())), 0, names).shape
    canvas = np.zeros((-(-len(players) // columns) * height, columns * width, 3), np.uint8)

    def frames() -> Iterator[NDArray[np.uint8]]:
        for at in range(length):
            for place, (label, seen) in enumerate(players.items()):
                if at <= len(seen):  # after that it stays as it is
                    y, x = place // columns * height, place % columns * width
                    canvas[y : y + height, x : x + width] = picture(label, seen, at, names)
            yield canvas

    fast = ["-preset", "veryfast"]
    return write_video(path, frames(), fps=FRAMES_PER_SECOND / frame_skip, output_params=fast)


def picture(label: str, seen: Sequence[Moment], at: int, names: Sequence[str]) -> NDArray[np.uint8]:
    """A player's screen at a step, uint8 [H, W, 3]; below it action, return, and a bar for what it
    expects of each action, under which the buttons' initials stand."""
    import cv2  # slow to import

    moment = seen[min(at, len(seen) - 1)]
    over = at >= len(seen)
    image = moment.screen.unpacked()
    if over:
        image = np.repeat(image.mean(axis=-1, keepdims=True) // 2, 3, axis=-1).astype(np.uint8)
    image = enlarged(image, SCALE)
    strip = np.zeros((STRIP, image.shape[1], 3), np.uint8)
    doing = "over" if over else names[moment.action] or "no button"
    for text, y in ((label, 20), (f"{doing}   return {moment.total:,.0f}", 46)):
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


def keep_best(recordings: Path, returns: Sequence[float], target: Path) -> None:
    """Of a .bk2 per episode, keep the one with the highest return, as `target`."""
    files = sorted(recordings.glob("**/*.bk2"))
    if returns and len(files) >= len(returns):
        files[returns.index(max(returns))].rename(target)
    shutil.rmtree(recordings, ignore_errors=True)


@dataclasses.dataclass(frozen=True)
class WatchConfig:
    """Watch an agent play in a window, without learning. N takes the next level, Escape leaves."""

    agent: str = positional("AGENT")
    """A checkpoint, a run folder, a shipped agent's name (ppo2), or random, hold-right,
    run-and-jump."""
    levels: str = ""
    """Splits and GAME:STATE with commas between, played in turn; none: the first of
    bramble-test."""
    seed: Seed = 0
    """Seed of the first episode's sticky actions; each further episode takes the next."""
    explore: bool = False
    """Act as while it learns, by draws from its policy or with noise, not by its best action."""
    backend: Literal["native", "emulator"] = "native"
    """What plays BrambleDash's levels; others always play in the emulator."""
    device: str = "cpu"
    """Where the net computes: cpu, cuda, cuda:1, auto."""


def in_window(
    pygame: Any, window: Any, label: str, names: Sequence[str], *, fps: int, keys: set[str]
) -> Callable[[Moment], bool]:
    """What `watch` calls to show each step; N and Escape end the episode.

    names: of the actions. keys: gets the names of the keys that are pressed.
    """
    clock = pygame.time.Clock()

    def shown(moment: Moment) -> bool:
        show(pygame, window, picture(label, [moment], 0, names))
        clock.tick(fps)
        keys.update(pressed(pygame))
        return bool(keys & {"n", "escape"})

    return shown


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Show episodes until the window is closed."""
    config = parse_command(WatchConfig, argv, command="retro-agents watch")
    film_instead = f"`retro-agents evaluate {config.agent} --video` films episodes instead"
    pygame, window = open_window(320 * SCALE, 224 * SCALE + STRIP, advice=film_instead)
    levels = playable_levels(config.levels or HELD_OUT)
    policy, settings = load_policy(config.agent, seed=config.seed, device=config.device)
    settings = dataclasses.replace(settings.with_raw_rewards(), backend=config.backend)
    names, second = settings.spec().action_names, FRAMES_PER_SECOND // settings.frame_skip
    keys = set[str]()
    for number, level in enumerate(cycle(levels if config.levels else levels[:1])):
        keys.clear()
        label = f"{config.agent}, {level}"
        with closing(make_env(level, settings)) as env:
            episode, _ = watch(
                policy,
                env,
                seed=config.seed + number,
                explore=config.explore,
                patience=PATIENCE * second,
                on_moment=in_window(pygame, window, label, names, fps=second, keys=keys),
            )
        print(f"{level}: return {episode.r:,.0f} in {episode.l / second:.0f} s", flush=True)
        if "escape" in keys:
            break
    pygame.quit()


if __name__ == "__main__":
    main()
