"""Compares native BrambleDash with the emulator: pictures, stacks, rewards, ends, variables.

Both are played side by side; a row has the steps of a case, and how many of them were equal in each
part. `--share N` plays every N-th act. The exit code is 1 if anything differs.

proofs      the oracle's way through every act
random      random play of every act, sticky, episodes one after the other
agent       rainbow/pretrained on every act, sticky
settings    other pictures, actions, frame skips and rewards, random play
fresh       another seed's acts, random play (needs the m68k compiler)
limits      acts with more sprites on a line than the console shows (likewise)
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
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
from lab.benchmarks.cases import Options, Repeat, Rows, benchmark
from retro_agents.games.retro.bramble import GAME
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.engine import CONSOLE_ONLY
from retro_agents.games.retro.integrations import add_custom_folders
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_env
from retro_agents.ground.errors import UserError

Policy = Callable[[np.ndarray], int]
RANDOM = (0, 1, 1, 1, 1, 2, 3, 4, 5, 6, 6, 6)
"""Actions of random play: mostly forward."""
PARTS = ("stacks", "pictures", "rewards", "ends", "infos")
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
    """The same level in both back ends; counts equal steps."""

    def __init__(self, level: Level, config: EnvConfig) -> None:
        self.mine: Any = make_env(level, config)
        self.theirs: Any = make_env(level, replace(config, backend="emulator"))
        self.pair = self.mine, self.theirs
        self.counts: Counter[str] = Counter()
        self.first = ""

    def close(self) -> None:
        """Free the emulator."""
        self.theirs.close()
        self.mine.close()

    def play(self, level: Level, policy: Policy, *, steps: int, seed: int, once: bool) -> None:
        """Act for `steps` steps (once: or until the episode ends). Both have the same seed."""
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

    def reset(self, env: gymnasium.Env, level: Level, seed: int | None) -> tuple[Any, ...]:
        """Reset, with the result of a step without reward and end."""
        obs, info = env.reset(seed=seed, options={"level": level})
        return obs, 0.0, False, False, info

    def compare(self, level: Level, ours: Any, theirs: Any, *, where: str) -> np.ndarray:
        """Count one step -> the emulator's observation."""
        expected = {name: value for name, value in theirs[4].items() if name != CONSOLE_ONLY}
        equal = dict(zip(PARTS, [
            np.array_equal(ours[0], theirs[0]),
            np.array_equal(self.mine.render(), self.theirs.unwrapped.emulator.screen()),
            ours[1] == theirs[1],
            ours[2:4] == theirs[2:4],
            ours[4] == expected,
        ], strict=True))  # fmt: skip
        self.counts.update({"steps": 1, "episodes": int(theirs[2] or theirs[3]), **equal})
        if not all(equal.values()) and not self.first:
            self.first = f"{level}, {where}: {[name for name in equal if not equal[name]]}"
        observation: np.ndarray = theirs[0]
        return observation


def random_policy(seed: int, actions: int = 7) -> Policy:
    """A policy that draws from RANDOM, or uniformly from more actions."""
    random = np.random.default_rng(seed)
    choices = RANDOM if actions == 7 else range(actions)
    return lambda obs: int(random.choice(choices))


def played(
    levels: Sequence[tuple[int, Level]],
    policy: Callable[[int, Level], Policy],
    *,
    steps: int,
    once: bool = False,
    **settings: Any,
) -> Pair:
    """A pair that has played numbered levels, each with its own policy."""
    with closing(Pair(levels[0][1], EnvConfig(**settings))) as pair:
        for number, level in levels:
            pair.play(level, policy(number, level), steps=steps, seed=number, once=once)
    return pair


def acts(share: int, game: str = GAME) -> list[tuple[int, Level]]:
    """Every `share`-th act of a cartridge, with its number."""
    return [*enumerate(Level(game, name) for name in level_names())][::share]


def proofs(share: int) -> list[Pair]:

    def proof(_: int, level: Level) -> Policy:
        actions = iter(read_proof(level.state))
        return lambda obs: next(actions)

    return [played(acts(share), proof, steps=4_500, once=True, stick_probability=0.0)]


def random_play(share: int, *, steps: int = 700, **settings: Any) -> list[Pair]:
    count = settings.get("actions", 7)
    policy = lambda number, _: random_policy(number, count)  # noqa: E731
    return [played(acts(share), policy, steps=steps, **settings)]


def agent_play(share: int) -> list[Pair]:
    from retro_agents.judging.policies import load_policy  # torch takes seconds to import

    agent, config = load_policy("rainbow", seed=0)
    starts = np.zeros(1, bool)

    def policy(*_: Any) -> Policy:
        return lambda obs: int(agent.act(obs[np.newaxis], starts=starts)[0])

    return [played(acts(share), policy, steps=300, **vars(config))]


def crowded() -> list[Act]:
    """All acts; the first three with more sprites on a line than the console shows."""

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


def built(levels: Sequence[Act], share: int, *, name: str, first: int | None = None) -> list[Pair]:
    """Random play on a cartridge of other acts; first: only so many, regardless of the share."""
    with tempfile.TemporaryDirectory() as folder:
        game = f"{name}-Genesis-v0"
        for _ in fresh.build(list(levels), Path(folder) / game):
            pass
        add_custom_folders([folder])
        some = acts(1, game)[:first] if first else acts(share, game)
        return [played(some, lambda number, _: random_policy(number), steps=200)]


CASES: dict[str, Callable[[int], list[Pair]]] = {
    "proofs": proofs,
    "random": random_play,
    "agent": agent_play,
    "settings": lambda share: [
        pair for own in SETTINGS.values() for pair in random_play(share * 10, steps=300, **own)
    ],
    "fresh": lambda share: built(all_acts(77), share, name="BrambleDash77"),
    "limits": lambda share: built(crowded(), share, name="BrambleCrowd", first=3),
}


def measure(wanted: list[str], options: Options) -> Repeat:
    """Play the cases, one after the other. Raises UserError if a part is to be stored."""
    if options.write and options.share > 1:
        raise UserError("--write stores a whole result: leave --share out")
    found: Repeat = {}
    for name in wanted:
        pairs = CASES[name](options.share)
        counts = sum((pair.counts for pair in pairs), Counter[str]())
        found[name] = {part: counts[part] for part in ("steps", "episodes", *PARTS)}
        if different := [pair.first for pair in pairs if pair.first]:
            found[name]["first_difference"] = different[0]
    return found


def table(repeats: list[Repeat], options: Options) -> Rows:
    return [{"case": case, **row} for case, row in repeats[-1].items()]


main = benchmark("equality", __doc__, list(CASES), measure=measure, table=table, repeats=1, share=1)


if __name__ == "__main__":
    main()
