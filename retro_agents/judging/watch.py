# PYTHON_ARGCOMPLETE_OK
"""Show an agent at play in a window.

retro-agents watch ppo2
"""

import dataclasses
from collections.abc import Sequence
from contextlib import closing
from itertools import cycle
from shlex import quote
from typing import Literal

from retro_agents.contract.policy import FORMER_FLAGS, Play
from retro_agents.games.retro.contest_env import FRAMES_PER_SECOND
from retro_agents.games.retro.make import make_env
from retro_agents.ground.errors import command
from retro_agents.ground.ranges import Seed
from retro_agents.ground.window import open_window, pressed, show
from retro_agents.judging.film import PATIENCE, SCALE, STRIP, Moment, picture, play_episode
from retro_agents.judging.levels import playable_levels
from retro_agents.judging.policies import check_play, load_policy
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import field, positional


@dataclasses.dataclass(frozen=True)
class WatchConfig:
    """Watch an agent play in a window, without learning. N: next level; Escape: quit."""

    agent: str = positional("AGENT")
    """A checkpoint, a run folder, a shipped agent's name (ppo2), or random, hold-right,
    run-and-jump."""
    levels: str = ""
    """Levels (RustCavern.Act2; GAME:STATE for one of no split) and splits (bramble-test),
    separated by commas, played in turn; default: the test split of the agent's game."""
    seed: Seed = 0
    """Seed of the first episode's sticky actions; each later episode uses the next seed."""
    play: Play | None = field(None, answers=FORMER_FLAGS)
    """How actions are chosen: best, draw, draw:T with a temperature T, or epsilon:E with a share E
    of random ones; default: as the agent's checkpoint says."""
    backend: Literal["native", "emulator"] = "native"
    """How BrambleDash is played: natively or in the emulator; other games are always emulated."""
    device: str = "cpu"
    """Device of the net: cpu, cuda, cuda:1, auto."""


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Show episodes until the window is closed."""
    config = parse_command(WatchConfig, argv, command="retro-agents watch")
    check_play(config.agent, config.play)
    levels = playable_levels(config.levels, agent=config.agent)  # before a window opens
    policy, settings = load_policy(config.agent, seed=config.seed, device=config.device)
    film_instead = f"`retro-agents evaluate {quote(config.agent)} --video` films episodes instead"
    pygame, window = open_window(320 * SCALE, 224 * SCALE + STRIP, advice=film_instead)
    settings = dataclasses.replace(settings.with_raw_rewards(), backend=config.backend)
    names, second = settings.spec().action_names, FRAMES_PER_SECOND // settings.frame_skip
    clock, keys = pygame.time.Clock(), set[str]()

    def shown(moment: Moment) -> bool:
        show(pygame, window, picture(f"{config.agent}, {level}", [moment], 0, names))
        clock.tick(second)
        keys.update(pressed(pygame))
        return bool(keys & {"n", "escape"})

    for number, level in enumerate(cycle(levels)):
        keys.clear()
        with closing(make_env(level, settings)) as env:
            episode = play_episode(
                policy,
                env,
                seed=config.seed + number,
                play=config.play,
                patience=PATIENCE * second,
                on_moment=shown,
            )
        print(f"{level}: return {episode.r:,.0f} in {episode.l / second:.0f} s", flush=True)
        if "escape" in keys:
            break
    pygame.quit()


if __name__ == "__main__":
    main()
