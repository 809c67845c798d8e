"""Whether BrambleDash without an emulator equals it: pictures, stacks, rewards, ends, variables.

`python -m lab.benchmarks.equality` plays both side by side and prints one JSON line per row: steps,
and how many of them were equal in everything that is compared. `--write` stores the rows in
lab/benchmarks/results/equality.json. Exit code 1 where anything differs.

proofs      the oracle's way through every act
random      random play of every act, sticky, episodes one after the other
agent       rainbow/pretrained on every act, sticky
settings    other pictures, actions, frame skips and rewards, random play
fresh       another seed's acts, random play (needs the m68k compiler)
limits      acts with more sprites on a line than the console shows (likewise)
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from cartridge.levels import fresh
from cartridge.levels.cells import Act, Spawn, SpawnKind
from cartridge.levels.generator import all_acts
from cartridge.levels.oracle import read_proof
from cartridge.levels.splits import level_names
from lab.benchmarks.cases import RESULTS
from retro_agents.games.retro.bramble import GAME
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.engine import CONSOLE_ONLY
from retro_agents.games.retro.integrations import add_custom_folders
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_env
from retro_agents.ground.errors import Parser, UserError, command
from retro_agents.ground.results import write_result

Policy = Callable[[np.ndarray], int]
RANDOM = (0, 1, 1, 1, 1, 2, 3, 4, 5, 6, 6, 6)
"""Actions that random play draws from: mostly onward."""
SETTINGS: dict[str, dict[str, Any]] = {
    "rgb": {"colour": "rgb"},
    "small": {"image_height": 42, "image_width": 42, "frame_stack": 2},
    "rgb_64": {"colour": "rgb", "image_height": 64, "image_width": 64, "frame_stack": 1},
    "odd": {"image_height": 61, "image_width": 100},
    "large": {"colour": "rgb", "image_height": 240, "image_width": 330, "frame_stack": 1},
    "ten": {"actions": 10, "frame_skip": 1, "backtracking": False},
    "late": {"stick_probability": 0.9, "frame_skip": 6, "reward_scale": 0.01, "episode_steps": 60},
}


class Pair:
    """The same level in both back ends; counts what is equal."""

    def __init__(self, level: Level, config: EnvConfig) -> None:
        self.mine: Any = make_env(level, config)
        self.theirs = make_env(level, replace(config, backend="emulator"))
        self.counts: Counter[str] = Counter()
        self.first = ""

    def close(self) -> None:
        """Free the emulator."""
        self.theirs.close()
        self.mine.close()

    def play(self, level: Level, policy: Policy, *, steps: int, seed: int, once: bool) -> None:
        """Act until `steps` are over (once: or the episode is). Both are seeded alike."""
        obs = self.compare(level, *(self.reset(e, level, seed) for e in self.pair), where="start")
        for step in range(steps):
            action = policy(obs)
            ours, theirs = (env.step(action) for env in self.pair)
            self.compare(level, ours, theirs, where=f"step {step}")
            obs = theirs[0]
            if theirs[2] or theirs[3]:
                if once:
                    return
                resets = (self.reset(env, level, None) for env in self.pair)
                obs = self.compare(level, *resets, where=f"start after step {step}")

    @property
    def pair(self) -> tuple[gymnasium.Env, gymnasium.Env]:
        """Native, emulator."""
        return self.mine, self.theirs

    def reset(self, env: gymnasium.Env, level: Level, seed: int | None) -> tuple[Any, ...]:
        """Like a step without reward and end."""
        obs, info = env.reset(seed=seed, options={"level": level})
        return obs, 0.0, False, False, info

    def compare(self, level: Level, ours: Any, theirs: Any, *, where: str) -> np.ndarray:
        """Count one step -> the emulator's observation."""
        expected = {name: value for name, value in theirs[4].items() if name != CONSOLE_ONLY}
        emulator: Any = self.theirs.unwrapped
        equal = {
            "stacks": np.array_equal(ours[0], theirs[0]),
            "pictures": np.array_equal(self.mine.render(), emulator.emulator.screen()),
            "rewards": ours[1] == theirs[1],
            "ends": ours[2:4] == theirs[2:4],
            "infos": ours[4] == expected,
        }
        self.counts.update({"steps": 1, "episodes": int(theirs[2] or theirs[3]), **equal})
        if not all(equal.values()) and not self.first:
            self.first = f"{level}, {where}: {[name for name in equal if not equal[name]]}"
        observation: np.ndarray = theirs[0]
        return observation


def random_policy(seed: int, actions: int = 7) -> Policy:
    """Draws from RANDOM, or evenly from more actions."""
    random = np.random.default_rng(seed)
    choices = RANDOM if actions == 7 else range(actions)
    return lambda obs: int(random.choice(choices))


def proofs(share: int) -> Iterator[Pair]:
    """One pair that has played every proof."""
    levels = [Level(GAME, name) for name in level_names()]
    with closing(Pair(levels[0], EnvConfig(stick_probability=0.0))) as pair:
        for level in levels[::share]:
            actions = iter(read_proof(level.state))
            pair.play(level, lambda obs, a=actions: next(a), steps=4_500, seed=0, once=True)  # type: ignore[misc]
        yield pair


def random_play(
    share: int, *, game: str = GAME, steps: int = 700, **settings: Any
) -> Iterator[Pair]:
    """One pair that has played every act at random."""
    levels = [Level(game, name) for name in level_names()]
    config = EnvConfig(**settings)
    with closing(Pair(levels[0], config)) as pair:
        for number, level in list(enumerate(levels))[::share]:
            policy = random_policy(number, config.actions)
            pair.play(level, policy, steps=steps, seed=number, once=False)
        yield pair


def agent_play(share: int) -> Iterator[Pair]:
    """One pair that Rainbow has played."""
    from retro_agents.judging.policies import load_policy  # torch takes seconds to import

    agent, config = load_policy("rainbow", seed=0)
    levels = [Level(GAME, name) for name in level_names()]
    starts = np.zeros(1, bool)
    with closing(Pair(levels[0], config)) as pair:
        for number, level in list(enumerate(levels))[::share]:
            pair.play(
                level,
                lambda obs: int(agent.act(obs[np.newaxis], starts=starts)[0]),
                steps=300,
                seed=number,
                once=False,
            )
        yield pair


def settings(share: int) -> Iterator[Pair]:
    """A pair for each of SETTINGS."""
    for changed in SETTINGS.values():
        yield from random_play(share * 10, steps=300, **changed)


def crowded() -> list[Act]:
    """All acts; the first three with more sprites on their lines than the console shows."""

    def crowd(act: Act, kind: SpawnKind, count: int, *, apart: int, arg: int = 0) -> Act:
        x, y = act.start
        spawns = [Spawn(x + 60 + i * apart, y - 40 + i % 3, kind, arg) for i in range(count)]
        return replace(act, spawns=tuple(sorted(spawns)))

    first, second, third, *others = all_acts()
    return [
        crowd(first, SpawnKind.RING, 60, apart=9),
        crowd(second, SpawnKind.WALKER, 50, apart=7, arg=2),
        crowd(third, SpawnKind.BOOSTER, 50, apart=11),
        *others,
    ]


def built(
    acts: Sequence[Act], share: int, *, name: str, first: int | None = None
) -> Iterator[Pair]:
    """A pair on a cartridge of other acts."""
    with tempfile.TemporaryDirectory() as folder:
        game = f"{name}-Genesis-v0"
        for _ in fresh.build(list(acts), Path(folder) / game):
            pass
        add_custom_folders([folder])
        levels = [Level(game, name) for name in level_names()]
        with closing(Pair(levels[0], EnvConfig())) as pair:
            for number, level in list(enumerate(levels[:first]))[:: share if first is None else 1]:
                pair.play(level, random_policy(number), steps=200, seed=number, once=False)
            yield pair


CASES: dict[str, Callable[[int], Iterator[Pair]]] = {
    "proofs": proofs,
    "random": random_play,
    "agent": agent_play,
    "settings": settings,
    "fresh": lambda share: built(all_acts(77), share, name="BrambleDash77"),
    "limits": lambda share: built(crowded(), share, name="BrambleCrowd", first=3),
}


def row(name: str, share: int) -> dict[str, Any]:
    """One case's line."""
    counts: Counter[str] = Counter()
    first = ""
    for pair in CASES[name](share):
        counts.update(pair.counts)
        first = first or pair.first
    equal = {part: counts[part] for part in ("stacks", "pictures", "rewards", "ends", "infos")}
    different = {"first_difference": first} if first else {}
    return {
        "case": name,
        "steps": counts["steps"],
        "episodes": counts["episodes"],
        **equal,
        **different,
    }


@command
def main() -> None:
    """The command line."""
    parser = Parser(
        prog="python -m lab.benchmarks.equality",
        description=__doc__,
    )
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument(
        "--share", type=int, default=1, help="play every so-manieth act (default: 1)"
    )
    parser.add_argument("--write", action="store_true", help="store in results/equality.json")
    options = parser.parse_args()
    if options.share < 1:
        raise UserError(f"--share {options.share}: expected a whole number, 1 or more")
    if options.write and (options.share > 1 or len(options.only) < len(CASES)):
        raise UserError("--write stores a whole result: leave --only and --share out")
    rows = []
    for name in options.only:
        rows.append(row(name, options.share))
        print(json.dumps(rows[-1]), flush=True)
    total = sum(found["steps"] for found in rows)
    print(json.dumps({"case": "all", "steps": total}))
    if options.write:
        write_result(RESULTS / "equality.json", {"rows": rows}, module="lab.benchmarks.equality")
    if any("first_difference" in found for found in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
