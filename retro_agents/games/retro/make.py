"""Environments from levels and settings: every wrapper, in order."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import gymnasium
from gymnasium.wrappers import OrderEnforcing, TransformReward

from retro_agents.contract.envs import check_room, row_seeds
from retro_agents.games.retro import wrappers
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.contest_env import ContestEnv
from retro_agents.games.retro.engine import check_rules
from retro_agents.games.retro.integrations import check_playable, full_name, is_native
from retro_agents.games.retro.levels import Level, parse_level, parse_levels
from retro_agents.games.retro.native import NativeVectorEnv
from retro_agents.games.retro.native_env import NativeContestEnv, NativeEnv
from retro_agents.games.retro.vector import RetroVectorEnv, assign_levels
from retro_agents.ground.errors import UserError

TAKES = {"native": 240 << 10, "emulator": 60 << 20}
"""Bytes of memory that an environment takes: measured on 1,000 native ones, and on 4 emulators."""


def backend_of(levels: Sequence[Level], config: EnvConfig) -> Literal["native", "emulator"]:
    """The backend that plays these levels. Raises UserError if they cannot be played, or only some
    of them natively, or not with this scenario."""
    native = config.backend == "native"
    for game in dict.fromkeys(level.game for level in levels):
        wanted = [level.state for level in levels if level.game == game]
        check_playable(game, *wanted, scenario=config.scenario, native=native)
    ours = {level.game for level in levels if is_native(level.game)}
    if not native or not ours:
        return "emulator"
    if others := {level.game for level in levels} - ours:
        raise UserError(
            f"levels of {min(ours)} and of {min(others)} run together only in emulators: "
            "add --backend emulator"
        )
    for game in ours:
        check_rules(game, config.scenario)
    return "native"


def make_contest_env(
    level: Level | str, config: EnvConfig | None = None, *, record_dir: Path | str | None = None
) -> gymnasium.Env:
    """The contest's side: MultiBinary(12) buttons -> screens uint8 [H, W, 3], 4,500 steps.

    record_dir: a folder for one .bk2 per episode. Raises UserError if something is missing.
    """
    config = as_config(config)
    level = as_level(level)
    if backend_of([level], config) == "native":
        return NativeContestEnv(level, config, record_dir=as_path(record_dir))
    return emulated(level, config, record_dir=record_dir)


def as_config(config: Any) -> EnvConfig:
    """The config; the contest's for None. Raises UserError if it is something else."""
    if config is not None and not isinstance(config, EnvConfig):
        kind = type(config).__name__
        raise UserError(
            f"a config of type {kind}: give an EnvConfig, such as EnvConfig(actions=10)"
        )
    return config or EnvConfig()


def as_level(level: Level | str) -> Level:
    """The level, given itself or by name, with its game's full name. Raises UserError if it is
    something else."""
    if isinstance(level, str):
        return parse_level(level)
    if not isinstance(level, Level):
        raise UserError(f"level {level!r}: give a name, such as 'BrambleWood.Act3', or a Level")
    return Level(full_name(level.game), level.state)


def as_levels(levels: Sequence[Level | str] | Path | str) -> list[Level]:
    """The levels of a text (see `parse_levels`), of a CSV's path, or of a list."""
    if isinstance(levels, str | Path):
        return parse_levels(str(levels))
    return [as_level(level) for level in levels]


def as_path(record_dir: Path | str | None) -> Path | None:
    """Converts a folder, if given, to a Path."""
    return None if record_dir is None else Path(record_dir)


def emulated(level: Level, config: EnvConfig, *, record_dir: Path | str | None) -> gymnasium.Env:
    """`make_contest_env` in an emulator, regardless of config.backend."""
    env: gymnasium.Env = ContestEnv(level, config, record_dir=as_path(record_dir))
    return wrappers.StepLimit(env, steps=config.episode_steps)


def wrap_agent(env: gymnasium.Env, config: EnvConfig) -> gymnasium.Env:
    """Wraps any environment with the contest's spaces, even a remote one, for an agent.

    Discrete(7 or 10) -> uint8 [C, H, W]; infos["episode_record"] on an episode's last step.
    """
    env = wrappers.Discretise(env, actions=config.actions)
    env = wrappers.EpisodeRecord(env)
    if config.backtracking:
        env = wrappers.AllowBacktracking(env)
    if config.reward_scale != 1.0:
        env = TransformReward(env, lambda reward: float(reward) * config.reward_scale)
    height, width = config.image_height, config.image_width
    env = wrappers.Warp(env, height=height, width=width, grey=config.colour == "grey")
    return wrappers.FrameStack(env, depth=config.frame_stack)


def make_env(
    level: Level | str,
    config: EnvConfig | None = None,
    *,
    record_dir: Path | str | None = None,
    others: Sequence[Level | str] = (),
) -> gymnasium.Env:
    """One level for an agent: Discrete(7 or 10) -> uint8 [C, H, W], oldest frame first.

    others: further levels that a reset may name, of other games too. A process can have one
    emulator: close() it before making another. Raises UserError if something is missing.
    """
    config = as_config(config)
    levels = [as_level(each) for each in (level, *others)]
    backend = backend_of(levels, config)
    check_room(config.spec(), 1, each=TAKES[backend])
    if backend == "native":
        return NativeEnv(levels[0], config, record_dir=as_path(record_dir), others=levels[1:])
    return wrap_agent(emulated(levels[0], config, record_dir=record_dir), config)


def make_rotating_env(
    levels: list[Level],
    config: EnvConfig,
    *,
    rotate_every: int,
    record_dir: Path | str | None = None,
) -> gymnasium.Env:
    """As `make_env` in an emulator, but plays the levels in turn (see LevelRotation)."""
    env = emulated(levels[0], config, record_dir=record_dir)
    return wrap_agent(wrappers.LevelRotation(env, levels, rotate_every=rotate_every), config)


def make_vec(
    levels: Sequence[Level | str] | Path | str,
    config: EnvConfig | None = None,
    *,
    num_envs: int,
    seed: int = 0,
    rotate_every: int = 0,
    part: slice = slice(None),
    record_dir: Path | str | None = None,
) -> RetroVectorEnv | NativeVectorEnv:
    """`num_envs` environments that share the levels (see assign_levels); text as for parse_levels.

    rotate_every: agent steps on a level before the next; 0: see Turns. part: make only these
    environments. record_dir: for a folder of .bk2 files per environment. Raises UserError if
    something is missing.
    """
    config = as_config(config)
    played = as_levels(levels)
    backend = backend_of(played, config)
    check_room(config.spec(), num_envs, part, each=TAKES[backend])
    kind = NativeVectorEnv if backend == "native" else RetroVectorEnv
    rows = assign_levels(played, num_envs=num_envs, rotate_every=rotate_every, seed=seed)
    return kind(
        rows[part],
        config=config,
        seed=row_seeds(seed, num_envs)[part],
        rotate_every=rotate_every,
        record_dir=as_path(record_dir),
    )


Layer = wrappers.Stateful | ContestEnv | NativeEnv


def layers(env: gymnasium.Env) -> dict[str, Layer]:
    """Every layer that has a state, by its class's name, from the outermost inwards. Raises
    UserError for an environment of another kind."""
    by_name: dict[str, Layer] = {}
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, wrappers.Stateful):
            by_name[type(env).__name__] = env
        env = env.env
    if not isinstance(env, (ContestEnv, NativeEnv)):
        raise UserError(
            f"{type(env).__name__} is no single level of a platform game, whose state is saved: a "
            "vector environment has save_states and restore_states"
        )
    return {**by_name, type(env).__name__: env}


def save_env(env: gymnasium.Env) -> dict[str, Any]:
    """The state of an environment of `make_env`, `make_contest_env` or `gymnasium.make`, for
    msgpack: of every layer of this project that has one, by its class's name. No part of it are
    Gymnasium's own wrappers around it, and which levels of a split come next."""
    return {name: layer.save() for name, layer in layers(env).items()}


def restore_env(env: gymnasium.Env, saved: dict[str, Any]) -> None:
    """Resume exactly where `save_env` was called, with the same settings; the observation is the
    last one before that.

    Raises UserError if the back end differs, or `backtracking`, which adds a layer. An environment
    that has not begun is reset first, as Gymnasium's wrappers demand.
    """
    by_name, begun = layers(env), True
    if ("NativeEnv" in by_name) != ("NativeEnv" in saved):
        backend = "native" if "NativeEnv" in saved else "emulator"
        raise UserError(f"the state was saved with the back end {backend}: make the same here")
    if ("AllowBacktracking" in by_name) != ("AllowBacktracking" in saved):
        flag = "--backtracking" if "AllowBacktracking" in saved else "--no-backtracking"
        raise UserError(f"the saved run was started with {flag}: resume with the same")
    outer = env
    while isinstance(outer, gymnasium.Wrapper):
        begun = begun and (not isinstance(outer, OrderEnforcing) or outer.has_reset)
        outer = outer.env
    if not begun:
        env.reset()
    for name, layer in by_name.items():
        layer.restore(saved[name])
